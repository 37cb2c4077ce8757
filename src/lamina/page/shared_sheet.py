"""What is the whole tenant's, laid open: everybody reads it, only a key of the whole tenant changes it."""

from lamina.access.types import Right
from lamina.page.sheet import Sheet
from lamina.visitor import Visitor


class SharedSheet(Sheet):
    """A sheet of something that belongs to the whole tenant."""

    @property
    def may_change(self) -> bool:
        """Whether the key may write for everybody."""
        return self.frame.may(Right.WRITE, whole_tenant=True)

    async def enter(self, *, to_change: Right | None = None) -> Visitor:
        """Who is looking, with the right to read, or to change what is everybody's. Raises ForbiddenError."""
        visitor = await self.frame.visitor()
        if to_change is None:
            visitor.require(Right.READ)
        else:
            visitor.require_unbound(to_change)
        return visitor
