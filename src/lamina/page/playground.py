"""The playground: what a model would get to see for what a user says."""

from lamina.page.pieces import nothing
from lamina.page.shell import Frame, Page


async def _build(frame: Frame) -> None:
    await frame.visitor()
    nothing("Type what a user would say.")


PAGE = Page(path="/playground", title="Playground", icon="science", build=_build)
