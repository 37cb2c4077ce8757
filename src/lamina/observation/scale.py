"""How much room each stretch of a conversation gets in a drawing.

Old notes stand for hundreds of messages, new ones for a few. On a straight scale the new ones would be a dot, so every
stretch between two ends of notes gets room by the root of its messages, and at least enough to be seen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lamina.observation.service import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where on a line each message is: `starts` are the columns of `cuts`, of which the last is the line's end."""

    cuts: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, cuts: Sequence[int], width: int) -> "Scale":
        """A scale for stretches that begin at `cuts`, the last of which is one after the last message."""
        counts = [after - before for before, after in pairwise(cuts)]
        least = min(3, width // max(len(counts), 1))
        weights = [math.sqrt(count) for count in counts]
        room = width - least * len(counts)
        ends = [0.0]
        for weight in weights:
            ends.append(ends[-1] + least + room * weight / sum(weights))
        return cls(cuts=tuple(cuts), starts=tuple(round(end) for end in ends))

    def columns(self, first: int, last: int) -> tuple[int, int]:
        """The columns of a range of messages, the second not included; at least one."""
        start, end = self._column(first), self._column(last + 1)
        return start, max(end, start + 1)

    def _column(self, sequence: int) -> int:
        place = max(0, sum(cut <= sequence for cut in self.cuts) - 1)
        if place == len(self.cuts) - 1:
            return self.starts[-1]
        begin, end = self.cuts[place], self.cuts[place + 1]
        return self.starts[place] + (sequence - begin) * (self.starts[place + 1] - self.starts[place]) // (end - begin)


def timeline_cuts(timeline: Timeline) -> list[int]:
    """Where something begins or ends in a session, and one after its last message."""
    cuts = {1, timeline.last_sequence + 1, timeline.archived_through + 1, timeline.watermark + 1}
    for note in timeline.notes:
        cuts |= {note.first_sequence, note.last_sequence + 1}
    return sorted(cuts)
