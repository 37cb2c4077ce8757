"""Draws the pictures of the README from real output: `python docs/images/draw.py`."""

import asyncio
import re
from pathlib import Path

from conversation import said
from rich.console import Console, RenderableType
from rich.text import Text

import lamina
from lamina.cli import demo_sample as sample
from lamina.cli.context_tables import receipt_view
from lamina.cli.tables import results_note, results_table
from lamina.cli.timeline_drawing import TimelineView
from lamina.context.receipt import Receipt
from lamina.context.tools import ToolDescriptor

FOLDER = Path(__file__).parent
QUESTION = "When may we deploy the shop?"
TASK = "deploy the web app"
SESSION = "telegram:42:7"
NOTING = {"enabled": True, "memory_token_budget": 6000, "consolidation_threshold": 3}
"""More room than by default, and earlier consolidation: so two generations of reflections are there at once."""


async def search() -> lamina.SearchResults:
    """The answer of the demo's sample to one question."""
    async with lamina.open(":memory:") as app:
        await app.hierarchy.set(project_id="shop", team_id="storefront", org_id="commerce", company_id="acme")
        await app.memory.bulk_add([*sample.CONVERSATION, *sample.RULES])
        return await app.memory.search(QUESTION, user_id="ana", project_id="shop", explain=True)


async def assemble() -> Receipt:
    """The receipt of a prompt that several layers had something for."""
    async with lamina.open(":memory:", knowledge={"enabled": True}, skill={"auto_approve": True}) as app:
        await app.memory.add("Ana wants to see the plan before the web app is deployed", user_id="ana")
        await app.knowledge.save("deploy-rule", "Never deploy the web app on a Friday", category="rule")
        await app.knowledge.save("web-stack", "The web app runs on FastAPI behind nginx", category="fact")
        await app.learning.correct("deploying the web app", "Run the migrations before the deploy")
        await app.references.save(
            "runbook", type="wiki", location="wiki/runbook", summary="How to roll back a deploy of the web app"
        )
        await app.skills.create(
            "release-notes",
            description="Writes the release notes of the web app",
            type="template",
            definition={"template": "Released: {{ version }}"},
        )
        tools = [
            ToolDescriptor(name="deploy", description="Deploy an app to production"),
            ToolDescriptor(name="weather", description="Tell the weather of a place"),
        ]
        context = app.context.with_tools(tools)
        with app.session(SESSION):
            base = "You are the release assistant of a small team. Be brief."
            prompt = await context.assemble(base, query=TASK, user_id="ana", budget_tokens=290)
        return prompt.receipt


async def converse() -> TimelineView:
    """The timeline of a conversation of half a year, noted without a model while it goes on.

    It is drawn as it is when two generations of reflections and some observations are there for the last time.
    """
    drawn: TimelineView | None = None
    async with lamina.open(":memory:", observational_memory=NOTING) as app:
        with app.session(SESSION):
            messages = list(said())
            for role, text, at in messages:
                author = "Ann" if role == "user" else None
                await app.sessions.append(role=role, content=text, author=author, at=at)
                await app.observation.drain()
                found = await app.observation.timeline()
                if len({note.generation for note in found.reflections}) > 1 and len(found.observations) > 1:
                    ends = (messages[0][2], at)
                    drawn = TimelineView(session=await app.sessions.get(), timeline=found, said=ends, entries=3)
    assert drawn is not None, "no moment shows everything; change the thresholds"
    return drawn


def draw(name: str, command: str, *output: RenderableType) -> None:
    """Write a terminal as a picture."""
    with (FOLDER / f"{name}.svg").open("w") as nowhere:
        console = Console(record=True, width=104, file=nowhere, force_terminal=True)
        console.print(Text(f"$ {command}", style="bold"))
        for each in output:
            console.print(each)
    picture = console.export_svg(title=" ".join(command.split()[:2]), unique_id=name)
    # The picture names fonts that readers have instead of loading one.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = picture.replace("font-family: Fira Code", "font-family: ui-monospace, Menlo, Consolas")
    (FOLDER / f"{name}.svg").write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")


def main() -> None:
    """Write all pictures."""
    results = asyncio.run(search())
    note = Text(f"  {results_note(results)}", style="dim")
    asked = f'lamina search "{QUESTION}" --user ana --project shop --explain'
    draw("search", asked, results_table(results, explain=True), note)
    explained = f'lamina context explain "{TASK}" --user ana --session telegram:42:7 --budget 290'
    draw("context", explained, receipt_view(asyncio.run(assemble())))
    draw("timeline", f"lamina session timeline {SESSION} --entries 3", asyncio.run(converse()))


if __name__ == "__main__":
    main()
