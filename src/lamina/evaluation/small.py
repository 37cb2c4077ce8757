"""Measures search where every new user begins: stores of one to a few dozen memories, everything at its default.

The labelled stores ship with the package. Ranking may be tuned on those of part `dev`; `held_out` tells whether that
was learnt or memorised.
"""

import statistics
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from lamina.app import App
from lamina.memory.types import Identifiers, NewMemory, Source

Progress = Callable[[int, int], None]
"""Called with the steps done and the steps there are."""

PARTS = ("dev", "held_out")
SATURATED = 0.995
"""From here on a score reads 1.00."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallStore:
    """A labelled store: what it holds, what is asked with the memories that answer, and what it cannot answer."""

    name: str
    part: str
    memories: tuple[str, ...]
    conversation: bool
    asked: tuple[tuple[str, frozenset[int]], ...]
    off_topic: tuple[str, ...]

    def to_memories(self) -> list[NewMemory]:
        """The store's content, each memory referring to its place; turns of a conversation keep author and order."""
        user = Identifiers(user_id=self.name)
        return [
            NewMemory(content=text, identifiers=user, source=self._source(place, text))
            for place, text in enumerate(self.memories)
        ]

    def _source(self, place: int, text: str) -> Source:
        if not self.conversation:
            return Source(kind="manual", reference=str(place))
        author = text.partition(":")[0]
        return Source(kind="conversation", conversation=self.name, sequence=place, author=author, reference=str(place))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallQuality:
    """What the questions of one part found at the default threshold and limit.

    `saturated_share` is the share of all results whose score reads 1.00; `other_results_mean` counts results beside
    the labelled ones.
    """

    recall: float
    mrr: float
    other_results_mean: float
    off_topic_results_mean: float
    saturated_share: float
    stores: int
    questions: int
    off_topic_questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallReport:
    """The quality of each part."""

    parts: dict[str, SmallQuality]
    embedder: str

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return {**{name: asdict(quality) for name, quality in self.parts.items()}, "embedder": self.embedder}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    wanted: frozenset[int]
    found: tuple[int, ...]
    scores: tuple[float, ...]

    @property
    def recall(self) -> float:
        return len(self.wanted & set(self.found)) / len(self.wanted)

    @property
    def reciprocal_rank(self) -> float:
        return next((1 / rank for rank, place in enumerate(self.found, start=1) if place in self.wanted), 0.0)


def small_stores() -> list[SmallStore]:
    """The shipped stores."""
    text = files("lamina.evaluation").joinpath("data", "small_stores.toml").read_text(encoding="utf-8")
    return [
        SmallStore(
            name=store["name"],
            part=store["part"],
            memories=tuple(store.get("memories") or store["turns"]),
            conversation="turns" in store,
            asked=tuple((question, frozenset(places)) for question, places in store["asked"]),
            off_topic=tuple(store["off_topic"]),
        )
        for store in tomllib.loads(text)["store"]
    ]


async def evaluate_small(
    app: App, stores: Sequence[SmallStore], *, progress: Progress = lambda done, total: None
) -> SmallReport:
    """Give every store a user of its own, ask everything, and report. The database should be empty."""
    answers: dict[str, list[_Answer]] = {part: [] for part in PARTS}
    off_topic: dict[str, list[int]] = {part: [] for part in PARTS}
    for number, store in enumerate(stores):
        await app.memory.bulk_add(store.to_memories())
        answers[store.part] += [await _ask(app, store, question, wanted) for question, wanted in store.asked]
        for question in store.off_topic:
            off_topic[store.part].append(len((await _ask(app, store, question, frozenset())).found))
        progress(number + 1, len(stores))
    counts = {part: sum(store.part == part for store in stores) for part in PARTS}
    return SmallReport(
        parts={part: _quality(answers[part], off_topic[part], counts[part]) for part in PARTS if counts[part]},
        embedder=app.parts.embedder.name,
    )


async def _ask(app: App, store: SmallStore, question: str, wanted: frozenset[int]) -> _Answer:
    hits = (await app.memory.search(question, user_id=store.name)).hits
    places = [hit.memory.source.reference for hit in hits if hit.memory.source is not None]
    return _Answer(
        wanted=wanted,
        found=tuple(int(place) for place in places if place is not None),
        scores=tuple(hit.score for hit in hits),
    )


def _quality(answers: Sequence[_Answer], off_topic: Sequence[int], stores: int) -> SmallQuality:
    scores = [score for answer in answers for score in answer.scores]
    return SmallQuality(
        recall=_mean(answer.recall for answer in answers),
        mrr=_mean(answer.reciprocal_rank for answer in answers),
        other_results_mean=_mean(len(set(answer.found) - answer.wanted) for answer in answers),
        off_topic_results_mean=_mean(off_topic),
        saturated_share=_mean(score >= SATURATED for score in scores),
        stores=stores,
        questions=len(answers),
        off_topic_questions=len(off_topic),
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return round(statistics.fmean(numbers), 4) if numbers else 0.0
