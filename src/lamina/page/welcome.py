"""What the first visitor of an empty store sees: what this is, and three ways to begin."""

from lamina.page.pieces import card, copyable, tag
from lamina.page.shell import Frame


def welcome(frame: Frame) -> None:
    """Explain the service by what to do first; commands name the address that the page was opened at."""
    address = f"http://{frame.headers.get('host', '127.0.0.1:7077')}"
    key = "" if frame.grant.key_id is None else " -H 'X-API-Key: YOUR_KEY'"
    with card("Nothing is known yet"):
        tag(
            "p",
            "Lamina keeps what an agent learns about users, projects, teams and companies, finds what matters for its "
            "next turn, and puts it before the model within a budget. This page fills as soon as something is stored.",
            classes="lead",
        )
    _way(
        "1",
        "Store something",
        "A memory belongs to a layer: an agent, a user, a session, a project, a team, an org or a company.",
        f"curl {address}/v1/memories{key} -H 'Content-Type: application/json' \\\n"
        """  -d '{"content": "Prefers dark mode", "layer": "user", "identifiers": {"user_id": "ana"}}'""",
    )
    _way(
        "2",
        "Let your agent remember",
        "Agents that speak MCP get tools for it. Any OpenAI client remembers with one changed base URL.",
        "lamina mcp install --client claude-code",
        f'client = OpenAI(base_url="{address}/v1")',
    )
    _way(
        "3",
        "Or look around first",
        "A story of two weeks: three people, two projects, tools that fail and get fixed.",
        "lamina serve --demo",
    )
    with tag("p", classes="note"):
        tag("span", "Then type what a user would say into the ")
        tag("a", "playground", href="/playground")
        tag("span", " and see what the model gets.")


def _way(number: str, title: str, text: str, *commands: str) -> None:
    with card(classes="way"):
        tag("div", number, classes="step")
        with tag("div"):
            tag("h2", title)
            tag("p", text, classes="note")
        with tag("div", classes="stack"):
            for command in commands:
                copyable(command)
