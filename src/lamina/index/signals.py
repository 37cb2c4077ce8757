"""Why an entry got its score: parts that add up to it, worked out when somebody asks for them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, overload


class Signal(NamedTuple):
    """Why an entry got its score: parts that add up to it; 0 for a signal that took no part.

    `lexical` and `vector` are its own evidence, with the share that stands in for neighbours where it has none.
    """

    lexical: float
    vector: float
    neighbour: float
    conversation: float
    author: float
    date: float

    def by_name(self) -> dict[str, float]:
        """Give every part by its name."""
        return self._asdict()

    def parts(self) -> dict[str, float]:
        """Give the parts of the signals that took part, by name."""
        return {name: part for name, part in self.by_name().items() if part > 0}


class Signals(Sequence[Signal]):
    """The signals of a ranking's results. Most results are shown without them, so they are worked out on demand."""

    __slots__ = ("_known", "_work_out")

    def __init__(self, work_out: Callable[[], list[Signal]]) -> None:
        self._work_out = work_out
        self._known: list[Signal] | None = None

    @property
    def _all(self) -> list[Signal]:
        if self._known is None:
            self._known = self._work_out()
        return self._known

    @overload
    def __getitem__(self, at: int) -> Signal: ...
    @overload
    def __getitem__(self, at: slice) -> list[Signal]: ...
    def __getitem__(self, at: int | slice) -> Signal | list[Signal]:
        return self._all[at]

    def __len__(self) -> int:
        return len(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == (other._all if isinstance(other, Signals) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._all)


class Explanation(Mapping[str, float]):
    """The parts of one result's score by name, and what a room adds to them. Read like a dictionary.

    With `only_parts` signals that took no part are not named.
    """

    __slots__ = ("_at", "_known", "_more", "_only_parts", "_signals")

    def __init__(
        self,
        signals: Sequence[Signal],
        at: int,
        more: Mapping[str, float] | None = None,
        *,
        only_parts: bool = False,
    ) -> None:
        self._signals = signals
        self._at = at
        self._more = more
        self._only_parts = only_parts
        self._known: dict[str, float] | None = None

    @property
    def _parts(self) -> dict[str, float]:
        if self._known is None:
            signal = self._signals[self._at]
            self._known = {**(signal.parts() if self._only_parts else signal.by_name()), **(self._more or {})}
        return self._known

    def __getitem__(self, name: str) -> float:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return repr(self._parts)
