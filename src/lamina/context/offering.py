"""Contexts with the tools that requests offer, made once for the same tools."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from lamina.context.service import ContextService
from lamina.context.tools import ToolDescriptor

_MOST: Final = 64

Adjustment = Callable[[ContextService], ContextService]
"""Makes the context that a model works with from the app's, such as `lambda context: context.with_counter(count)`."""


class ToolOffering:
    """Remembers the newest contexts with tools: an index of them is not made anew for every request."""

    def __init__(self, adjust: Adjustment | None = None) -> None:
        """`adjust` changes a context before it gets tools."""
        self._adjust = adjust
        self._made: OrderedDict[tuple[ToolDescriptor, ...], tuple[ContextService, ContextService]] = OrderedDict()

    def context(self, context: ContextService, tools: tuple[ToolDescriptor, ...]) -> ContextService:
        """The context, adjusted, with these tools to offer."""
        known = self._made.get(tools)
        if known is None or known[0] is not context:
            adjusted = context if self._adjust is None else self._adjust(context)
            known = self._made[tools] = (context, adjusted.with_tools(tools) if tools else adjusted)
        self._made.move_to_end(tools)
        while len(self._made) > _MOST:
            self._made.popitem(last=False)
        return known[1]
