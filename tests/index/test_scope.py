"""The laws of a scope index: history does not matter, and a scan gives what an index gives."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.index.query import prepare_query
from lamina.index.ranking import Ranked
from lamina.index.scan import ScopeScan
from lamina.index.scope import Asked, ScopeIndex, rank_scopes
from tests.index.scopes import MODEL, Row, batch, index_of, search

WORDS = ["dark", "mode", "hiking", "Ana", "tea", "the", "Berlin", "dog", "coffee", "painted", "naïve", "東京"]

vectors = st.none() | st.sampled_from([(1.0, 0, 0, 0), (0.5, 0.5, 0.5, 0.5), (0, 0, 1.0, 0), (0.0, 0, 0, 0)])
rows_strategy = st.builds(
    Row,
    entry=st.integers(1, 12),
    text=st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    vector=vectors,
    conversation=st.sampled_from(["", "one", "two"]),
    sequence=st.integers(0, 6),
    author=st.sampled_from(["", "Ana", "Ben"]),
    said_at=st.sampled_from([0.0, 1_683_554_160.0, 1_690_000_000.0]),
    expires_at=st.sampled_from([math.inf, 5.0]),
)
steps = st.lists(
    st.tuples(st.just("upsert"), st.lists(rows_strategy, max_size=5, unique_by=lambda row: row.entry))
    | st.tuples(st.just("remove"), st.lists(st.integers(1, 12), max_size=4)),
    max_size=12,
)
queries = st.tuples(
    st.lists(st.sampled_from([*WORDS, "unknown", "what", "in May 2023", "in July"]), max_size=5).map(" ".join), vectors
)


def same(one: Ranked, other: Ranked) -> None:
    assert one.entries.tolist() == other.entries.tolist()
    assert one.scores.tolist() == other.scores.tolist()
    assert one.signals == other.signals
    assert one.total == other.total


@settings(deadline=None)
@given(history=steps, asked=queries, now=st.sampled_from([0.0, 5.0]), limit=st.integers(1, 12))
def test_history_of_an_index_never_shows_in_its_results(
    history: list[tuple[str, list[Row] | list[int]]],
    asked: tuple[str, tuple[float, ...] | None],
    now: float,
    limit: int,
) -> None:
    grown = ScopeIndex(dimensions=4)
    living: dict[int, Row] = {}
    for verb, items in history:
        if verb == "upsert":
            changed = [item for item in items if isinstance(item, Row)]
            grown.upsert(batch(changed))
            living |= {row.entry: row for row in changed}
        else:
            gone = [item for item in items if isinstance(item, int)]
            grown.remove(gone)
            living = {entry: row for entry, row in living.items() if entry not in gone}
    fresh = index_of(list(living.values()))
    text, vector = asked
    query = prepare_query(text, None if vector is None else np.array(vector, np.float32))
    expected = fresh.rank(query, model=MODEL, limit=limit, threshold=0.0, now=now)
    same(grown.rank(query, model=MODEL, limit=limit, threshold=0.0, now=now), expected)
    assert len(grown) == len(living)

    scan = ScopeScan(query, dimensions=4, model=MODEL)
    ordered = list(living.values())
    for start in range(0, len(ordered), 3):
        scan.feed(batch(ordered[start : start + 3]))
    same(scan.rank(limit=limit, threshold=0.0, now=now), expected)


scopes_strategy = st.lists(
    st.tuples(
        st.lists(rows_strategy, max_size=12, unique_by=lambda row: row.entry),
        st.lists(st.integers(1, 12), max_size=4),
        st.integers(1, 12),
        st.sampled_from([0.0, 0.3, 0.7]),
        st.none() | st.lists(st.integers(1, 14)),
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(scopes=scopes_strategy, asked=queries, now=st.sampled_from([0.0, 5.0]))
def test_scopes_ranked_together_are_ranked_as_each_alone(
    scopes: list[tuple[list[Row], list[int], int, float, list[int] | None]],
    asked: tuple[str, tuple[float, ...] | None],
    now: float,
) -> None:
    text, vector = asked
    query = prepare_query(text, None if vector is None else np.array(vector, np.float32))
    wanted = []
    for rows, gone, limit, threshold, allowed in scopes:
        index = index_of(rows)
        index.remove(gone)
        within = None if allowed is None else np.array(allowed, np.int64)
        wanted.append(Asked(scope=index, limit=limit, threshold=threshold, allowed=within))
    together = rank_scopes(wanted, query, model=MODEL, now=now)
    for one, ranked in zip(wanted, together, strict=True):
        (alone,) = rank_scopes([one], query, model=MODEL, now=now)
        same(ranked, alone)
        (uncounted,) = rank_scopes([one._replace(counted=False)], query, model=MODEL, now=now)
        same(uncounted, ranked._replace(total=len(ranked.entries)))


@settings(deadline=None)
@given(
    rows=st.lists(rows_strategy, max_size=12, unique_by=lambda row: row.entry),
    asked=queries,
    allowed=st.lists(st.integers(1, 14)),
)
def test_a_filter_only_chooses_among_the_results(
    rows: list[Row], asked: tuple[str, tuple[float, ...] | None], allowed: list[int]
) -> None:
    index = index_of(rows)
    everything = search(index, *asked)
    chosen = search(index, *asked, allowed=np.array(allowed, np.int64))
    kept = [entry for entry in everything.entries.tolist() if entry in allowed]
    assert chosen.entries.tolist() == kept
    assert chosen.total == len(kept)


@settings(deadline=None)
@given(rows=st.lists(rows_strategy, max_size=12, unique_by=lambda row: row.entry), asked=queries)
def test_scores_are_relevances_in_falling_order_and_the_signals_add_up(
    rows: list[Row], asked: tuple[str, tuple[float, ...] | None]
) -> None:
    ranked = search(index_of(rows), *asked)
    scores = ranked.scores.tolist()
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    for score, signal in zip(scores, ranked.signals, strict=True):
        parts = (signal.lexical, signal.vector, signal.neighbour, signal.conversation, signal.author, signal.date)
        assert sum(parts) == pytest.approx(score, abs=1e-5) or sum(parts) == 0


@settings(deadline=None)
@given(
    rows=st.lists(rows_strategy, max_size=12, unique_by=lambda row: row.entry),
    asked=st.sampled_from([("dark tea", None), ("Ana painted", None), ("dog", (1.0, 0, 0, 0)), ("", (0.5,) * 4)]),
)
def test_a_signal_is_named_only_when_it_took_part(rows: list[Row], asked: tuple[str, tuple[float, ...] | None]) -> None:
    text, vector = asked
    by_entry = {row.entry: row for row in rows}
    talks = [row.conversation for row in rows]
    ranked = search(index_of(rows), text, vector)
    for entry, signal in zip(ranked.entries.tolist(), ranked.signals, strict=True):
        named, row = set(signal.parts()), by_entry[entry]
        assert vector is not None or "vector" not in named
        assert text or "lexical" not in named
        assert "date" not in named
        assert "author" not in named or row.author == "Ana"
        if not row.conversation:
            assert not named & {"neighbour", "conversation"}
        if talks.count(row.conversation) == 1:
            assert "neighbour" not in named
        if len({talk for talk in talks if talk}) < 2:
            assert "conversation" not in named


def test_many_single_rows_give_what_one_load_gives() -> None:
    rows = [
        Row(i, f"{WORDS[i % 11]} {WORDS[i % 7]} note{i % 97}", conversation=f"c{i % 5}", sequence=i) for i in range(600)
    ]
    grown = ScopeIndex(dimensions=4)
    for row in rows:
        grown.upsert(batch([row]))
    for row in rows[:150]:
        grown.upsert(batch([replace(row, text="changed " + row.text)]))
    grown.remove(range(200, 400))
    fresh = index_of(
        [replace(r, text="changed " + r.text) if r.entry < 150 else r for r in rows if not 200 <= r.entry < 400]
    )
    same(search(grown, "dark changed note5"), search(fresh, "dark changed note5"))
    assert len(grown) == 400


def test_an_empty_index_finds_nothing() -> None:
    assert search(ScopeIndex(dimensions=4), "anything", (1.0, 0, 0, 0)).total == 0
    assert (
        ScopeScan(prepare_query("anything", None), dimensions=4, model=MODEL)
        .rank(limit=5, threshold=0.0, now=0.0)
        .total
        == 0
    )


def test_equal_scores_put_the_newer_entry_first() -> None:
    ranked = search(index_of([Row(1, "green tea"), Row(3, "green tea"), Row(2, "green tea")]), "green tea")
    assert ranked.entries.tolist() == [3, 2, 1]


def test_the_limit_cuts_the_list_but_not_the_total() -> None:
    ranked = search(index_of([Row(i, "green tea") for i in range(1, 9)]), "green tea", limit=3)
    assert ranked.entries.tolist() == [8, 7, 6]
    assert ranked.total == 8


def test_an_expired_entry_is_not_found() -> None:
    index = index_of([Row(1, "green tea", expires_at=10.0)])
    assert search(index, "green tea", now=9.0).total == 1
    assert search(index, "green tea", now=10.0).total == 0


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="4 dimensions"):
        index_of([Row(1, "tea", vector=(1.0, 0.0))])


def test_memory_is_counted() -> None:
    index = index_of([Row(i, "green tea", vector=(1.0, 0, 0, 0)) for i in range(1000)])
    assert index.nbytes > 1000 * (4 * 4 + 2 * 9)
