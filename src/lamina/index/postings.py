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
    """Where several terms occur: one element per term and slot, ordered by term, in pieces that belong together.

    `sizes` says how many elements each term has.
    """

    sizes: list[int]
    slots: list[NDArray[np.int32]]
    counts: list[NDArray[np.uint8]]
    impacts: list[NDArray[np.float32]]

    def among(self, alive: NDArray[np.bool_]) -> "Hits":
        """The same without slots that are not alive."""
        if not self.slots:
            return self
        slots = np.concatenate(self.slots)
        living = alive[slots].nonzero()[0]
        terms = np.repeat(np.arange(len(self.sizes)), self.sizes)[living]
        return Hits(
            sizes=np.bincount(terms, minlength=len(self.sizes)).tolist(),
            slots=[slots[living]],
            counts=[np.concatenate(self.counts)[living]],
            impacts=[np.concatenate(self.impacts)[living]],
        )


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

    def gather(self, terms: NDArray[np.uint32]) -> Hits:
        """Give all postings of some terms."""
        segments = self._segments
        bounds = [segment.find(terms) for segment in segments]
        sizes = [0] * len(terms)
        hits = Hits(sizes=sizes, slots=[], counts=[], impacts=[])
        for i in range(len(terms)):
            for segment, (starts, stops) in zip(segments, bounds, strict=True):
                start, stop = starts[i], stops[i]
                if start < stop:
                    sizes[i] += stop - start
                    hits.slots.append(segment.slots[start:stop])
                    hits.counts.append(segment.counts[start:stop])
                    hits.impacts.append(segment.impacts[start:stop])
        return hits

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
