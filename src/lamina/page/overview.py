"""The overview: how much is known, how it grows, and whether all is well."""

from lamina.page.pieces import card, figure, tag
from lamina.page.shell import Frame, Page


async def _build(frame: Frame) -> None:
    visitor = await frame.visitor()
    counts = await visitor.rooms.scopes.counts()
    with card("Memories by layer"), tag("div", classes="figures"):
        for layer, count in counts.items():
            figure(layer.value, f"{count:,}")


PAGE = Page(path="/", title="Overview", icon="space_dashboard", build=_build)
