"""The frame that every page stands in, and how a page is made.

A page is a module with a `PAGE` and one line in `pages.py`:

    async def build(frame: Frame) -> None:
        visitor = await frame.visitor()
        found = await visitor.rooms.memory.list(**visitor.identifiers({}))
        with card("Memories"):
            table(("Text", "Layer"), [(one.content, one.layer) for one in found.entries], empty="Nothing yet.")

    PAGE = Page(path="/memories", title="Memories", icon="notes", group="Known", build=build)

- `build` draws into the frame; `frame.query` has what is in the address, such as `/sessions?key=...`.
- Ask `await frame.visitor()` again for everything that is read or done later, in a handler or a timer: it asks the gate
  anew, so a key that was revoked does nothing any more. Rights are checked there (`visitor.require(Right.WRITE)`);
  `frame.may(Right.WRITE)` only says whether to draw a button.
- Let errors out. A LaminaError in a handler becomes a message with its code, a session that ended leads to the login,
  and in `build` the error is shown in the page. What was typed stays where it is.
- Text that came from a store is shown with `text.py`, `ui.label`, `tag` or a `table` of `pieces.py`; never `ui.html`,
  `ui.markdown` or a property whose name begins with a colon, which would be run.
- There is no Tailwind. Use the pieces of `pieces.py` and the classes of `static/lamina.css`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Literal
from urllib.parse import urlencode

from fastapi import Request
from nicegui import ui

from lamina.access.types import Grant, Right
from lamina.errors import LaminaError, UnauthorizedError
from lamina.page.door import COOKIE, SCOPE, Door
from lamina.page.pieces import tag
from lamina.visitor import Visitor

Group = Literal["", "Known", "Kept"]
_GROUPS: Final[dict[Group, str]] = {"": "", "Known": "What is known", "Kept": "Looking after it"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: where it is, what it is called, how it is drawn, and who gets to see it in the navigation."""

    path: str
    title: str
    icon: str
    build: "Callable[[Frame], Awaitable[None]]"
    group: Group = ""
    lead: str = ""
    """One sentence under the title."""
    right: Right = Right.READ
    whole_tenant: bool = False
    """Whether it is nothing for a key that is for somebody in particular."""

    def is_for(self, grant: Grant) -> bool:
        """Whether it is of any use to the bearer of a grant."""
        return grant.right.includes(self.right) and not (self.whole_tenant and grant.bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One page as one browser has it open."""

    page: Page
    door: Door
    grant: Grant
    """What the person might do when the page was opened."""
    query: Mapping[str, str]
    token: str | None
    headers: Mapping[str, str]

    async def visitor(self) -> Visitor:
        """Who is looking, asked anew. Raises UnauthorizedError when the session has ended."""
        return await self.door.visitor(self.token, headers=self.headers)

    def may(self, right: Right, *, whole_tenant: bool = False) -> bool:
        """Whether to draw what needs this right; the rooms check it again when it is used."""
        return self.grant.right.includes(right) and not (whole_tenant and self.grant.bound)

    def say(self, text: str) -> None:
        """Tell that something was done."""
        ui.notify(text, position="bottom-right", classes="said", timeout=4000)

    def fail(self, error: Exception) -> None:
        """Show an error to whoever met it; the end of a session leads to the login."""
        if isinstance(error, UnauthorizedError):
            here = f"{self.page.path}?{urlencode(self.query)}".rstrip("?")
            ui.navigate.to(f"/login?{urlencode({'next': here})}")
            return
        text = f"{error.code}: {error.message}" if isinstance(error, LaminaError) else "INTERNAL_ERROR: see the log."
        ui.notify(text, position="bottom-right", classes="failed", timeout=10000, close_button="Close")


def register(page: Page, pages: Sequence[Page], *, style: str, script: str) -> None:
    """Give a page its route."""

    async def show(request: Request) -> None:
        door: Door = request.scope[SCOPE]
        token = request.cookies.get(COOKIE)
        frame = Frame(
            page=page,
            door=door,
            grant=await door.grant(token, headers=request.headers),
            query=dict(request.query_params),
            token=token,
            headers=dict(request.headers),
        )
        ui.add_head_html(f'<link rel="stylesheet" href="{escape(style)}"><script src="{escape(script)}"></script>')
        ui.on_exception(frame.fail)
        await _draw(frame, [one for one in pages if one.is_for(frame.grant)])

    ui.page(page.path, title=f"{page.title} · Lamina", response_timeout=30)(show)


async def _draw(frame: Frame, pages: Sequence[Page]) -> None:
    client = ui.context.client
    with client.layout.classes("shell"):
        skip = tag("a", "Skip to content", classes="skip", href="#main")
        with tag("header", classes="side") as side:
            _navigation(frame, pages)
    skip.move(target_index=0)  # before NiceGUI's own <main>, in which pages are drawn
    side.move(target_index=1)
    client.content.classes("main").props("id=main tabindex=-1")
    with tag("div", classes="top"):
        tag("h1", frame.page.title)
        if frame.page.lead:
            tag("p", frame.page.lead, classes="lead")
    try:
        await frame.page.build(frame)
    except LaminaError as error:
        with tag("div", classes="card notice", role="alert"):
            tag("h2", error.message)
            tag("p", error.code, classes="code")
            if "next" in error.details:
                tag("p", str(error.details["next"]))


def _navigation(frame: Frame, pages: Sequence[Page]) -> None:
    with tag("div", classes="brand"):
        with tag("a", classes="mark", href="/"):
            tag("img", src="/_page/lamina.svg", alt="", width="22", height="22")
            tag("span", "Lamina")
        menu = tag("button", "Menu", classes="menu", type="button", aria_expanded="false", aria_controls="nav")
        menu.on("click", js_handler="(event) => lamina.menu(event.currentTarget)")
    with tag("nav", id="nav", aria_label="Pages"):
        group: Group = ""
        for page in pages:
            if page.group != group:
                group = page.group
                tag("div", _GROUPS[group], classes="group")
            with tag("a", href=page.path) as link:
                if page is frame.page:
                    link.props["aria-current"] = "page"
                ui.icon(page.icon).props("aria-hidden=true")
                tag("span", page.title)
    _foot(frame)


def _foot(frame: Frame) -> None:
    grant = frame.grant
    with tag("div", classes="foot"):
        with tag("div", classes="who"):
            tag("span", grant.tenant, classes="tenant", title="Tenant")
            who = "no key, this machine only" if grant.key_id is None else f"{grant.right} key"
            bound = ", ".join(grant.identifiers.to_dict().values())
            tag("span", f"{who} for {bound}" if bound else who)
        with tag("div", classes="acts"):
            theme = tag("button", "Light or dark", classes="plain", type="button")
            theme.on("click", js_handler="() => lamina.theme()")
            tag("a", "API", classes="plain", href="/docs", title="The HTTP API")
            if grant.key_id is not None:
                with tag("form", method="post", action="/logout"):
                    tag("button", "Log out", classes="plain", type="submit")
