"""Draws the pictures of the README from real output: `python docs/images/draw.py`."""

import asyncio
import re
from pathlib import Path

from rich.console import Console
from rich.text import Text

import lamina
from lamina.cli import demo_sample as sample
from lamina.cli.tables import results_note, results_table

FOLDER = Path(__file__).parent
QUESTION = "When may we deploy the shop?"


async def ask() -> lamina.SearchResults:
    """The answer of the demo's sample to one question."""
    async with lamina.open(":memory:") as app:
        await app.hierarchy.set(project_id="shop", team_id="storefront", org_id="commerce", company_id="acme")
        await app.memory.bulk_add([*sample.CONVERSATION, *sample.RULES])
        return await app.memory.search(QUESTION, user_id="ana", project_id="shop", explain=True)


def main() -> None:
    """Write `search.svg`."""
    results = asyncio.run(ask())
    with (FOLDER / "search.svg").open("w") as nowhere:
        console = Console(record=True, width=104, file=nowhere, force_terminal=True)
        console.print(Text(f'$ lamina search "{QUESTION}" --user ana --project shop --explain', style="bold"))
        console.print(results_table(results, explain=True))
        console.print(Text(f"  {results_note(results)}", style="dim"))
    picture = console.export_svg(title="lamina search", unique_id="search")
    # The picture names fonts that readers have instead of loading one.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = picture.replace("font-family: Fira Code", "font-family: ui-monospace, Menlo, Consolas")
    (FOLDER / "search.svg").write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")


if __name__ == "__main__":
    main()
