"""The port between a room and whoever carries a whole tenant: records out, checked records in.

A room has one `Carrier` for each kind of record. Reading happens on one view of the store, in pages; what is read is
plain JSON. Coming in, a record is checked without I/O, embedded and analysed outside of any transaction, and put into
the store with others of its kind in one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from lamina.database.link import Link
from lamina.errors import InvalidInputError
from lamina.index.store import Indexable

OnConflict = Literal["skip", "replace", "error"]
"""What happens to a record that is there already."""
Record = dict[str, Any]
Cursor = Any
"""Where a page ended, as the carrier that read it understands it; None before the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """A record of an import, checked and in its stored form."""

    key: str
    """What makes two records of the kind the same."""
    values: Mapping[str, Any]
    parts: Sequence[Mapping[str, Any]] = ()
    """What belongs to it in other tables, such as its versions."""
    text: str | None = None
    """What is searched; None where nothing is."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What ranking knows beside the text: arguments of `indexable`."""
    line: int = 0
    terms: Indexable | None = None

    @property
    def indexed(self) -> Indexable:
        """What ranking needs of the text, which has been analysed before the record is put into the store."""
        assert self.terms is not None
        return self.terms

    def refused(self, why: str) -> InvalidInputError:
        """What to raise when the store shows that the record cannot be stored."""
        return InvalidInputError(f"Line {self.line}: {why}", operation="import", details={"line": self.line})


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Records of one kind for one transaction, each key once, in the order of their lines."""

    tenant: str
    items: Sequence[Carried]
    on_conflict: OnConflict = "skip"
    model_id: int | None = None
    """Where the vectors come from."""

    def chosen(self, present: Collection[str]) -> list[Carried]:
        """The records to store when those keys are there already; with `replace` the caller removes those first.

        Raises InvalidInputError, naming the line, for one that is there when that is an error.
        """
        if self.on_conflict == "replace":
            return list(self.items)
        known = [item for item in self.items if item.key in present]
        if known and self.on_conflict == "error":
            raise known[0].refused("it is there already.")
        return [item for item in self.items if item.key not in present]

    def outcome(self, chosen: Sequence[Carried], present: Collection[str]) -> "Outcome":
        """What became of the batch when the chosen ones are stored."""
        replaced = sum(item.key in present for item in chosen)
        return Outcome(stored=len(chosen) - replaced, replaced=replaced, skipped=len(self.items) - len(chosen))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How many records are new, took the place of another, or were there already."""

    stored: int = 0
    replaced: int = 0
    skipped: int = 0
    apart: int = 0
    """Left out because what is there went another way."""


class Carrier(Protocol):
    """Takes one kind of record out of a store and into it. One is made for each export and each import."""

    @property
    def kind(self) -> str:
        """What a line calls its record."""
        ...

    def count(self, link: Link, tenant: str) -> int:
        """How many records there are."""
        ...

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """The next records after a cursor, each with its own, in an order in which they can be put."""
        ...

    def parse(self, given: object) -> Carried:
        """A record, checked as if a caller had passed it. Raises InvalidInputError."""
        ...

    def put(self, link: Link, batch: Batch) -> Outcome:
        """One step of a transaction: store the records, and keep the index in step.

        Raises InvalidInputError that names a line.
        """
        ...
