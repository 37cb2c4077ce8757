"""`lamina hierarchy`: which project belongs to which team, org and company."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from lamina.cli.command import command
from lamina.cli.invocation import Invocation
from lamina.cli.output import one_line
from lamina.cli.tables import LAYER_STYLES
from lamina.errors import InvalidInputError

if TYPE_CHECKING:
    from lamina.app import App

commands = typer.Typer()
_group = typer.Typer(no_args_is_help=True, help="Say which project belongs to which team, org and company.")
commands.add_typer(_group, name="hierarchy", rich_help_panel="Memory")
_PARENTS = {"project": "team", "team": "org", "org": "company"}


class Level(StrEnum):
    """What can belong to something."""

    PROJECT = "project"
    TEAM = "team"
    ORG = "org"


@command(
    _group,
    "set",
    whose=True,
    examples=(
        "lamina hierarchy set --project web --team ui --org labs",
        "lamina hierarchy set --org labs --company acme",
    ),
)
def set_(call: Invocation) -> None:
    """Link neighbouring levels: a search with --project then reaches the team's, org's and company's memories too."""

    async def work(app: "App") -> None:
        await app.hierarchy.set(tenant=app.settings.memory.tenant, **call.identifiers)

    try:
        call.run(work, create=True)
    except InvalidInputError as error:
        error.details["next"] = "Name two neighbouring levels, for instance --project web --team ui."
        raise
    shown = [f"{name.removesuffix('_id')} {value}" for name, value in call.identifiers.items()]
    call.output.show({"set": dict(call.identifiers)}, one_line(" › ".join(shown)))


@command(_group, "show", examples=("lamina hierarchy show", "lamina hierarchy show --json"))
def show(call: Invocation) -> None:
    """Print who belongs to whom, as a tree."""

    async def work(app: "App") -> list[Mapping[str, str]]:
        return await app.hierarchy.all(tenant=app.settings.memory.tenant)

    links = call.run(work)
    call.output.show([dict(link) for link in links], _tree(links) if links else "nothing is set")


@command(_group, "remove", examples=("lamina hierarchy remove project web",))
def remove(
    call: Invocation,
    level: Annotated[Level, typer.Argument(help="What belongs to something.")],
    id: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
) -> None:
    """Forget whom a project, team or org belongs to."""

    async def work(app: "App") -> bool:
        return await app.hierarchy.remove(tenant=app.settings.memory.tenant, kind=level.value, id=id)

    removed = call.run(work)
    call.output.show({"removed": removed}, "removed" if removed else "there was nothing to remove")


def _tree(links: list[Mapping[str, str]]) -> Tree:
    children: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for link in links:
        children.setdefault((_PARENTS[link["kind"]], link["parent_id"]), []).append((link["kind"], link["id"]))
    inner = {child for group in children.values() for child in group}

    def grow(tree: Tree, node: tuple[str, str]) -> None:
        branch = tree.add(Text.assemble((node[0], LAYER_STYLES[node[0]]), " ", one_line(node[1])))
        for child in sorted(children.get(node, ())):
            grow(branch, child)

    root = Tree("hierarchy", hide_root=True)
    for node in sorted(set(children) - inner):
        grow(root, node)
    return root
