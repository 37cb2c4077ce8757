"""The columns of a scope: one slot per entry, and who stands next to whom in a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamina.index.vectors import VectorBlocks, decode_vectors

_RELINK_ALL = 64
_FEW = 64
_DICT_ITEM_BYTES = 104
_COLUMNS: dict[str, type[np.generic]] = {
    "entries": np.int64,
    "lengths": np.float32,
    "missing_vector": np.bool_,
    "sequences": np.int64,
    "authors": np.int32,
    "said_at": np.float64,
    "expires_at": np.float64,
    "alive": np.bool_,
    # As wide as an index, so that reading through them needs no conversion.
    "conversations": np.intp,
    "previous": np.intp,
    "following": np.intp,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBatch:
    """Rows of a scope as parallel columns; an entry occurs once in a batch.

    `terms` are blobs of `lamina.index.terms.pack`, `vectors` little-endian float16 blobs of unit vectors or None,
    `conversations` and `authors` hashes of `name_key` (0: none), `said_at` seconds since the epoch (0: unknown),
    `expires_at` likewise (inf: never).
    """

    entries: Sequence[int]
    terms: Sequence[bytes]
    vectors: Sequence[bytes | None]
    conversations: Sequence[int]
    sequences: Sequence[int]
    authors: Sequence[int]
    said_at: Sequence[float]
    expires_at: Sequence[float]


class Rows:
    """Growing columns; readers may run side by side, writers must be alone.

    A slot is never reused: a changed or removed entry leaves a dead slot behind, until `compact` closes the gaps.
    Conversations are numbered from 1 in order of appearance; number 0 stands for no conversation.
    """

    entries: NDArray[np.int64]
    lengths: NDArray[np.float32]
    missing_vector: NDArray[np.bool_]
    conversations: NDArray[np.intp]
    sequences: NDArray[np.int64]
    authors: NDArray[np.int32]
    said_at: NDArray[np.float64]
    expires_at: NDArray[np.float64]
    alive: NDArray[np.bool_]
    previous: NDArray[np.intp]
    following: NDArray[np.intp]

    def __init__(self, dimensions: int) -> None:
        self.vectors = VectorBlocks(dimensions)
        self.size = 0
        self.dead = 0
        self.words = 0
        self.soonest_expiry = np.inf
        self.any_missing_vector = False
        self._slots: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self._authors: dict[int, int] = {}
        self._tails = np.full(1, -1, np.intp)
        self.conversation_words = np.zeros(1, np.float64)
        for name, kind in _COLUMNS.items():
            setattr(self, name, np.zeros(0, kind))

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def nbytes(self) -> int:
        arrays = sum(getattr(self, name).nbytes for name in _COLUMNS)
        tables = _DICT_ITEM_BYTES * (len(self._slots) + len(self._numbers) + len(self._authors))
        return int(arrays + tables + self.vectors.nbytes + self._tails.nbytes + self.conversation_words.nbytes)

    def append(self, batch: RowBatch, lengths: NDArray[np.int64]) -> int:
        """Add rows, replacing entries that exist, and give the first of their consecutive slots."""
        vectors, missing = decode_vectors(batch.vectors, self.vectors.dimensions)
        self.remove(batch.entries)
        first, count = self.size, len(batch.entries)
        self._reserve(first + count)
        span = slice(first, first + count)
        self.entries[span] = batch.entries
        self.lengths[span] = lengths
        self.vectors.append(vectors)
        self.missing_vector[span] = missing
        self.sequences[span] = batch.sequences
        self.authors[span] = _numbered(self._authors, batch.authors)
        self.said_at[span] = batch.said_at
        self.expires_at[span] = batch.expires_at
        self.conversations[span] = self._number(batch.conversations)
        self.alive[span] = True
        self.size = first + count
        self.words += int(lengths.sum())
        self.soonest_expiry = min(self.soonest_expiry, float(np.min(self.expires_at[span], initial=np.inf)))
        self.any_missing_vector |= bool(missing.any())
        self._slots.update(zip(self.entries[span].tolist(), range(first, first + count), strict=True))
        self._link(span)
        return first

    def remove(self, entries: Sequence[int]) -> None:
        """Take entries out; unknown ones are ignored."""
        gone = [slot for entry in entries if (slot := self._slots.pop(int(entry), None)) is not None]
        if not gone:
            return
        slots = np.array(gone, np.int64)
        self.alive[slots] = False
        self.dead += len(slots)
        self.words -= int(self.lengths[slots].sum(dtype=np.float64))
        np.subtract.at(self.conversation_words, self.conversations[slots], self.lengths[slots])
        if len(gone) > _RELINK_ALL:
            self._relink(np.flatnonzero(self.alive[: self.size]))
            return
        for slot in gone:
            before, after = int(self.previous[slot]), int(self.following[slot])
            if before >= 0:
                self.following[before] = after
            if after >= 0:
                self.previous[after] = before
            elif self._tails[self.conversations[slot]] == slot:
                self._tails[self.conversations[slot]] = before

    def compact(self) -> NDArray[np.int32]:
        """Close the gaps of dead slots; gives the new slot of every old one, -1 for the dead."""
        kept = np.flatnonzero(self.alive[: self.size])
        # One more element, -1, is what the links read where there is no neighbour.
        moved = np.full(self.size + 1, -1, np.intp)
        moved[kept] = np.arange(len(kept))
        for name in _COLUMNS:
            setattr(self, name, getattr(self, name)[kept])
        self.vectors.keep(kept)
        self.previous, self.following = moved[self.previous], moved[self.following]
        self._tails = moved[self._tails]
        self.size, self.dead = len(kept), 0
        self.soonest_expiry = float(np.min(self.expires_at, initial=np.inf))
        self.any_missing_vector = bool(self.missing_vector.any())
        self._slots = dict(zip(self.entries.tolist(), range(self.size), strict=True))
        return moved[:-1].astype(np.int32)

    def slots_of(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the slots of those entries that exist."""
        wanted = np.isin(self.entries[: self.size], entries)
        return np.flatnonzero(wanted)

    def written_by(self, names: Sequence[int]) -> NDArray[np.bool_] | None:
        """Mask the slots whose author has one of the names; None when nobody has."""
        found = [number for name in names if (number := self._authors.get(name))] if self._authors else None
        if not found:
            return None
        mask: NDArray[np.bool_] = self.authors[: self.size] == found[0]
        for number in found[1:]:
            mask |= self.authors[: self.size] == number
        return mask

    def _reserve(self, needed: int) -> None:
        capacity = len(self.entries)
        if needed <= capacity:
            return
        # A first load is exact, later growth leaves room.
        room = needed if not capacity else max(needed, capacity + capacity // 4 + 64)
        for name in _COLUMNS:
            old = getattr(self, name)
            new = np.zeros(room, old.dtype)
            new[: self.size] = old[: self.size]
            setattr(self, name, new)

    def _number(self, keys: Sequence[int]) -> NDArray[np.intp]:
        found = _numbered(self._numbers, keys)
        missing = len(self._numbers) + 1 - len(self._tails)
        if missing:
            self._tails = np.concatenate([self._tails, np.full(missing, -1, np.intp)])
            self.conversation_words = np.concatenate([self.conversation_words, np.zeros(missing)])
        return found

    def _link(self, span: slice) -> None:
        new = np.arange(span.start, span.stop, dtype=np.int32)
        numbers = self.conversations[span]
        np.add.at(self.conversation_words, numbers, self.lengths[span])
        self.previous[span] = -1
        self.following[span] = -1
        if len(new) > _RELINK_ALL:
            self._relink(np.flatnonzero(self.alive[: self.size]))
            return
        for slot in new.tolist():
            number = int(self.conversations[slot])
            if not number:
                continue
            tail = int(self._tails[number])
            if tail < 0 or self._place(tail) < self._place(slot):
                self._join(tail, slot)
                self._tails[number] = slot
            else:
                members = self.conversations[: self.size] == number
                members &= self.alive[: self.size]
                # Slots of this batch that have not had their turn yet take part as well: harmless, they are relinked.
                self._relink(np.flatnonzero(members))

    def _place(self, slot: int) -> tuple[int, int]:
        return int(self.sequences[slot]), int(self.entries[slot])

    def _join(self, before: int, after: int) -> None:
        if before >= 0:
            self.following[before] = after
        self.previous[after] = before

    def _relink(self, slots: NDArray[np.int64]) -> None:
        """Put whole conversations, given as all of their living slots, in order again."""
        previous, following, last = chain(self.conversations[slots], self.sequences[slots], self.entries[slots])
        moved = np.append(slots, -1)
        self.previous[slots] = moved[previous]
        self.following[slots] = moved[following]
        numbers = self.conversations[slots[last]]
        self._tails[numbers] = slots[last]


def _numbered(numbers: dict[int, int], keys: Sequence[int]) -> NDArray[np.intp]:
    """Give each key its number, new ones the next free one from 1 on; 0 stays 0."""
    if len(keys) > _FEW:
        distinct, places = np.unique(np.array(keys, np.int64), return_inverse=True)
        return np.array([numbers.setdefault(key, len(numbers) + 1) if key else 0 for key in distinct.tolist()])[places]
    found = (numbers.setdefault(key, len(numbers) + 1) if key else 0 for key in keys)
    return np.fromiter(found, np.intp, len(keys))


def chain(
    conversations: NDArray[np.intp], sequences: NDArray[np.int64], entries: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Give the previous and the following row of each row in its conversation (-1: none), and the last rows.

    Rows of one conversation stand in the order of their sequence, then of their entry; conversation 0 has no order.
    """
    size = len(entries)
    previous = np.full(size, -1, np.intp)
    following = np.full(size, -1, np.intp)
    order = np.lexsort((entries, sequences, conversations))
    order = order[conversations[order] > 0]
    numbers = conversations[order]
    same = numbers[1:] == numbers[:-1]
    previous[order[1:][same]] = order[:-1][same]
    following[order[:-1][same]] = order[1:][same]
    last = order[np.append(~same, True)] if len(order) else order
    return previous, following, last
