"""The inverted index of one scope: which slots hold a term, and how strongly.

Postings live in a few sorted segments whose sizes fall geometrically. A new row makes a small segment; segments of
similar size are merged, so that one row costs next to nothing and a lookup visits a handful of segments.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SATURATION = 1.2
LENGTH_SHARE = 0.4
_MERGE_RATIO = 2
_SMALL = 1024


def impact(counts: NDArray[np.uint8], lengths: NDArray[np.float32], pivot: float) -> NDArray[np.float32]:
    """Give the BM25 strength, before rarity, of terms found `counts` times in texts of `lengths` words.

    One mention in a text of the pivot's length is worth exactly 1.
    """
    return strength(counts.astype(np.float32), demand(lengths, pivot))


def demand(lengths: NDArray[np.float32], pivot: float, length_share: float = LENGTH_SHARE) -> NDArray[np.float32]:
    """Give what texts of these lengths ask for, in mentions, before one counts for much."""
    return lengths * np.float32(SATURATION * length_share / pivot) + np.float32(SATURATION * (1 - length_share))


def strength(counts: NDArray[np.float32], demand: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give the strength of so many mentions, which are used up."""
    norm = demand + counts
    counts *= np.float32(1 + SATURATION)
    counts /= norm
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Postings sorted by term: `bounds[i]` and `bounds[i + 1]` delimit the slots, counts and impacts of `terms[i]`."""

    terms: NDArray[np.uint32]
    bounds: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.uint8]
    impacts: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.terms, self.bounds, self.slots, self.counts, self.impacts))

    def find(self, terms: NDArray[np.uint32]) -> tuple[list[int], list[int]]:
        """Give where the postings of each term start and stop, which is the same place for a term it does not have."""
        at = self.terms.searchsorted(terms)
        known = self.terms.take(at, mode="clip") == terms
        return self.bounds[at].tolist(), self.bounds[at + known].tolist()


class Hits(NamedTuple):
    """Where several terms occur: one element per term and slot, in pieces that belong together.

    `sizes` says for each segment how many elements each term has. All of a slot's are in one segment, by term.
    """

    sizes: list[list[int]]
    slots: list[NDArray[np.int32]]
    counts: list[NDArray[np.uint8]]
    impacts: list[NDArray[np.float32]]

    @property
    def frequencies(self) -> list[int]:
        """In how many slots each term occurs."""
        return self.sizes[0] if len(self.sizes) == 1 else [sum(some) for some in zip(*self.sizes, strict=True)]

    def among(self, alive: NDArray[np.bool_]) -> "Hits":
        """The same without slots that are not alive."""
        if not self.slots:
            return self
        slots = np.concatenate(self.slots)
        living = alive[slots].nonzero()[0]
        groups = np.repeat(np.arange(sum(map(len, self.sizes))), [size for some in self.sizes for size in some])[living]
        sizes = np.bincount(groups, minlength=sum(map(len, self.sizes))).reshape(len(self.sizes), -1).tolist()
        counts = [np.concatenate(self.counts)[living]] if self.counts else []
        return Hits(sizes=sizes, slots=[slots[living]], counts=counts, impacts=[np.concatenate(self.impacts)[living]])


def _segment(
    hashes: NDArray[np.uint32],
    slots: NDArray[np.int32],
    counts: NDArray[np.uint8],
    impacts: NDArray[np.float32],
) -> Segment:
    # Sorting numbers made of term and place is several times faster than a stable argsort of the terms.
    keys = hashes.astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(hashes), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64(0xFFFFFFFF)).astype(np.intp)
    hashes = (keys >> np.uint64(32)).astype(np.uint32)
    first = (
        np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1]))) if len(hashes) else np.zeros(0, np.int64)
    )
    return Segment(
        terms=hashes[first],
        bounds=np.append(first, len(hashes)).astype(np.int64),
        slots=slots[order],
        counts=counts[order],
        impacts=impacts[order],
    )


def _spread(segment: Segment) -> NDArray[np.uint32]:
    return np.repeat(segment.terms, np.diff(segment.bounds))


class Postings:
    """A growing set of postings; readers may run side by side, writers must be alone."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self._segments)

    def add(
        self,
        hashes: NDArray[np.uint32],
        slots: NDArray[np.int32],
        counts: NDArray[np.uint8],
        impacts: NDArray[np.float32],
    ) -> None:
        """Add the postings of new slots, which must be higher than every slot seen before."""
        if not len(hashes):
            return
        segments = [*self._segments, _segment(hashes, slots, counts, impacts)]
        merged = len(segments) - 1
        size = len(segments[-1].slots)
        while merged and len(segments[merged - 1].slots) < max(_MERGE_RATIO * size, _SMALL):
            merged -= 1
            size += len(segments[merged].slots)
        if merged < len(segments) - 1:
            segments[merged:] = [_joined(segments[merged:])]
        self._segments = segments

    def gather(self, terms: NDArray[np.uint32], *, counted: bool = True) -> Hits:
        """Give all postings of some terms; the counts only where they are wanted."""
        hits = Hits(sizes=[], slots=[], counts=[], impacts=[])
        for segment in self._segments:
            starts, stops = segment.find(terms)
            spans = [slice(start, stop) for start, stop in zip(starts, stops, strict=True) if start < stop]
            hits.sizes.append([stop - start for start, stop in zip(starts, stops, strict=True)])
            hits.slots.extend([segment.slots[span] for span in spans])
            hits.impacts.extend([segment.impacts[span] for span in spans])
            if counted:
                hits.counts.extend([segment.counts[span] for span in spans])
        return hits if hits.sizes else Hits(sizes=[[0] * len(terms)], slots=[], counts=[], impacts=[])

    def reweigh(self, lengths: NDArray[np.float32], pivot: float) -> None:
        """Compute every impact again, for a new typical length."""
        for segment in self._segments:
            segment.impacts[:] = impact(segment.counts, lengths[segment.slots], pivot)

    def renumber(self, moved: NDArray[np.int32]) -> None:
        """Drop the postings of slots that `moved` maps to -1 and renumber the others; merges all segments."""
        if not self._segments:
            return
        whole = _joined(self._segments)
        slots = moved[whole.slots]
        kept = slots >= 0
        self._segments = []
        self.add(_spread(whole)[kept], slots[kept], whole.counts[kept], whole.impacts[kept])


def _joined(segments: list[Segment]) -> Segment:
    return _segment(
        np.concatenate([_spread(segment) for segment in segments]),
        np.concatenate([segment.slots for segment in segments]),
        np.concatenate([segment.counts for segment in segments]),
        np.concatenate([segment.impacts for segment in segments]),
    )
