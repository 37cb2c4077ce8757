"""What a model proposes before anything of it is believed."""

from dataclasses import dataclass

from lamina.observation.types import EntryKind, Period, Priority, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One line of an answer, read but not checked."""

    text: str
    kind: EntryKind = EntryKind.FACT
    priority: Priority = Priority.MEDIUM
    status: Status = Status.OPEN
    sources: tuple[int, ...] = ()
    """The sequence numbers an observer cites, as it gave them."""
    made_from: tuple[str, ...] = ()
    """The short ids of the entries a reflector cites, as it gave them."""
    replaces: tuple[str, ...] = ()
    """The short ids of entries that it says are superseded."""
    refers_to: Period | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What could be read of an answer.

    `nothing` is the explicit statement that there is nothing to record; an answer without drafts that does not say so
    could not be read, and is a failure.
    """

    drafts: tuple[Draft, ...] = ()
    nothing: bool = False
    unreadable: tuple[str, ...] = ()
    """Why pieces of the answer could not be used, at most a few."""
    repeated: int = 0
    """Lines that said again what a line before had said."""

    @property
    def readable(self) -> bool:
        """Whether it was an answer at all."""
        return bool(self.drafts) or self.nothing
