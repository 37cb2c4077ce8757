"""The playground: say what a user would say, and see what the model would get, and why."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nicegui import ui
from nicegui.element import Element

from lamina.context.turns import PreviousTurns
from lamina.context.types import ContextLayer
from lamina.memory.types import IDENTIFIER_NAMES, Identifiers
from lamina.page.entry import field as line
from lamina.page.entry import text_area, with_style
from lamina.page.pieces import action, card, grid, nothing, tag
from lamina.page.playground_result import draw_trial
from lamina.page.shell import Frame, Page
from lamina.page.text import one_line
from lamina.page.trial import BASE, LAYERS, Asked, Trial, run
from lamina.session.types import Session
from lamina.visitor import Visitor

_NAMES: Final = tuple(name for name in IDENTIFIER_NAMES if name != "session_id")
_EXAMPLES: Final = 4
_RECENT_TOKENS: Final = 2000
_MOST: Final = 200
"""Sessions and scopes that are offered; others can be typed."""


async def build(frame: Frame) -> None:
    """Draw the form, and the result of what the address asks for."""
    with_style()
    visitor = await frame.visitor()
    playground = Playground(frame=frame)
    with grid(classes="wide"):
        with card("A turn", classes="asking"):
            playground.form = Form(frame=frame, sessions=await _sessions(visitor), known=await _known(visitor))
            playground.form.draw(playground.assemble)
        with tag("div", classes="stack") as playground.result, card():
            nothing(
                "Here stands the prompt, section by section.",
                "With it: how many tokens each section takes, why each item was found, what was left out and why. Then "
                "change a budget or switch a layer off and see what that changes. Looking counts as no use.",
            )
            _draw_examples(await _said(visitor), playground)
    if frame.query.get("query"):
        await playground.assemble()


PAGE = Page(
    path="/playground",
    title="Playground",
    icon="science",
    lead="Say what a user would say, and see what the model gets to see, and why.",
    build=build,
)


async def _sessions(visitor: Visitor) -> dict[str, str]:
    return {one.key: one_line(one.key, 60) for one in await _owned(visitor)}


async def _owned(visitor: Visitor) -> list[Session]:
    """The newest conversations within reach."""
    user = visitor.grant.identifiers.user_id
    if visitor.grant.bound and user is None:
        return []
    found = await visitor.rooms.sessions.list(user_id=user, limit=_MOST)
    return [one for one in found.sessions if visitor.owns(one)]


async def _said(visitor: Visitor) -> list[tuple[Session, str]]:
    """What users asked last in the newest conversations, or said where they asked nothing."""
    said = []
    for session in (await _owned(visitor))[:_EXAMPLES]:
        messages = await visitor.rooms.sessions.recent(session.key, budget_tokens=_RECENT_TOKENS)
        texts = [one.content for one in messages if one.role == "user" and one.content.strip()]
        if texts:
            said.append((session, next((text for text in reversed(texts) if "?" in text), texts[-1])))
    return said


def _draw_examples(said: list[tuple[Session, str]], playground: "Playground") -> None:
    if not said:
        return
    tag("h3", "Or begin with what was said lately", classes="examples-head")
    with tag("div", classes="examples"):
        for session, text in said:
            button = tag("button", classes="example", type="button")
            button.on("click", partial(playground.example, session, text), [])
            with button:
                tag("span", one_line(text, 110))
                tag("span", one_line(session.key, 60), classes="note")


async def _known(visitor: Visitor) -> dict[str, list[str]]:
    """The identifiers there are memories of, by name."""
    reach = Identifiers(**visitor.identifiers({})) if visitor.grant.bound else None
    scopes = await visitor.rooms.scopes.list(reach=reach, limit=_MOST)
    known: dict[str, dict[str, None]] = {name: {} for name in _NAMES}
    for scope in scopes:
        for name, value in scope.identifiers.to_dict().items():
            known.get(name, {})[value] = None
    return {name: sorted(values) for name, values in known.items()}


@dataclass(slots=True)
class Playground:
    """One open playground: its form, and the trial that stands there."""

    frame: Frame
    form: "Form" = field(init=False)
    result: Element = field(init=False)
    turns: PreviousTurns = field(default_factory=PreviousTurns)
    last: Trial | None = None

    async def assemble(self) -> None:
        """Try what the form says, and show it beside what was tried before. Raises LaminaError; the form stays."""
        trial = await run(await self.frame.visitor(), self.form.asked(), self.turns)
        before, self.last = self.last, trial
        self.result.clear()
        with self.result:
            draw_trial(trial, before)

    async def example(self, session: Session, text: str) -> None:
        """Try what was said in a conversation."""
        self.form.fill(query=text, session=session.key, user=session.user_id)
        await self.assemble()


class Form:
    """What can be asked."""

    def __init__(self, *, frame: Frame, sessions: dict[str, str], known: dict[str, list[str]]) -> None:
        self._frame = frame
        self._sessions = sessions
        self._known = known

    def draw(self, assemble: Callable[[], Awaitable[None]]) -> None:
        """Draw the fields; the button and Ctrl+Enter assemble."""
        query = self._frame.query
        with tag("form", classes="stack") as form:
            form.on("submit.prevent", assemble, [])
            form.on("keydown.ctrl.enter.prevent", assemble, [])
            self._query = text_area("What the user says", query.get("query", "")).props("autofocus")
            sessions = {"": "none", **self._sessions}
            chosen = query.get("session", "")
            if chosen:
                sessions.setdefault(chosen, one_line(chosen, 60))
            self._session = ui.select(
                sessions, label="Session", value=chosen, with_input=True, new_value_mode="add-unique"
            )
            self._session.props("outlined dense options-dense").classes("field")
            self._draw_identifiers()
            with tag("fieldset", classes="switches"):
                tag("legend", "Layers that are searched")
                self._layers = {layer: self._switch(layer) for layer in LAYERS}
                if not self._frame.door.app.settings.knowledge.enabled:
                    tag("p", "What is greyed out is off: knowledge.enabled switches it on.", classes="note")
            with tag("div", classes="fields"):
                context = self._frame.door.app.settings.context
                self._budget = _number("Token budget", f"{context.budget_tokens:,}")
                observed = self._frame.door.app.settings.observational_memory
                self._memory_budget = _number("Memory budget", f"{observed.memory_token_budget:,}")
                self._most = _number("Items a layer", str(context.max_per_layer))
            with tag("details"):
                tag("summary", "Base prompt")
                self._base = text_area("What stands before everything", BASE)
            with tag("div", classes="row"):
                action("Assemble", lambda: None, kind="primary").props("type=submit")
                tag("span", "Ctrl+Enter", classes="note")

    def fill(self, *, query: str, session: str, user: str | None) -> None:
        """Write an example into the fields."""
        self._query.value = query
        self._session.value = session
        if self._identifiers["user_id"].enabled:
            self._identifiers["user_id"].value = user or ""

    def asked(self) -> Asked:
        """What the fields say now."""
        identifiers = {name: box.value.strip() for name, box in self._identifiers.items() if (box.value or "").strip()}
        return Asked(
            query=self._query.value or "",
            base=self._base.value or "",
            session=self._session.value or None,
            identifiers=identifiers,
            layers=tuple(layer for layer, box in self._layers.items() if box.value),
            budget=_whole(self._budget),
            memory_budget=_whole(self._memory_budget),
            max_per_layer=_whole(self._most),
        )

    def _switch(self, layer: ContextLayer) -> ui.checkbox:
        """A layer to be searched or not; those that the settings leave out cannot be."""
        there = layer is ContextLayer.RUNTIME_CONTEXT or self._frame.door.app.settings.knowledge.enabled
        box = ui.checkbox(layer.title, value=there).props("dense")
        box.set_enabled(there)
        return box

    def _draw_identifiers(self) -> None:
        bound = self._frame.grant.identifiers.to_dict()
        self._identifiers: dict[str, ui.input] = {}
        with tag("div", classes="fields"):
            for name in _NAMES:
                value = bound.get(name) or self._frame.query.get(name, "")
                box = line(name.removesuffix("_id").capitalize(), value)
                box.set_autocomplete(self._known[name])
                if name in bound:
                    box.disable()
                self._identifiers[name] = box


def _number(label: str, placeholder: str) -> ui.number:
    box = ui.number(label, min=0, step=1, placeholder=placeholder, format="%d")
    return box.props("outlined dense stack-label clearable").classes("field")


def _whole(box: ui.number) -> int | None:
    return None if box.value is None else int(box.value)
