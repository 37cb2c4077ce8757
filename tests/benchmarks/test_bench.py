"""The benchmarks run and say what they measured. How fast is no test's business."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.__main__ import BENCHES, main
from benchmarks.data import Language, questions
from benchmarks.floors import Fts5Floor, NumpyFloor
from benchmarks.report import Line, Target
from lamina.embedding.static import StaticEmbedder

LANGUAGE = Language(2_000)


def _lines(path: Path) -> list[dict[str, Any]]:
    whole = json.loads(path.read_text(encoding="utf-8"))
    assert {"lamina", "measured_at", "machine", "sizes", "lines"} <= whole.keys()
    lines: list[dict[str, Any]] = whole["lines"]
    return lines


def test_every_benchmark_runs_on_sqlite_and_its_figures_are_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--tiny", "--only", "sqlite", "--json", str(tmp_path / "bench.json")]) == 0
    lines = _lines(tmp_path / "bench.json")
    assert {line["bench"] for line in lines} == set(BENCHES)
    assert all(line["value"] > 0 for line in lines)
    assert all(line["met"] is None or isinstance(line["met"], bool) for line in lines)
    assert {line["floor_name"] for line in lines if line["bench"] == "search"} == {"FTS5", "numpy"}
    assert {line["detail"]["found, share"] for line in lines if line["bench"] == "fresh"} == {1.0}
    assert [line["met"] for line in lines if line["bench"] == "bounded"] == [True]
    assert [line["detail"]["overdue"] for line in lines if "overdue" in line["detail"]] == [0]
    assert "Lamina beside its floors" in capsys.readouterr().out


def test_the_floors_of_postgresql_are_words_vectors_and_a_bare_insert(tmp_path: Path) -> None:
    assert main(["--tiny", "--only", "postgresql", "search", "add", "--json", str(tmp_path / "bench.json")]) == 0
    floors = {line["floor_name"] for line in _lines(tmp_path / "bench.json")}
    assert floors == {"tsvector", "pgvector, exact", "pgvector, HNSW", "numpy", "bare insert"}


def test_text_is_the_same_every_time_and_every_question_is_another() -> None:
    turns = LANGUAGE.turns(300, seed=1)
    assert turns == Language(2_000).turns(300, seed=1)
    assert turns != LANGUAGE.turns(300, seed=2)
    asked = questions(turns, 100, seed=3)
    assert len(set(asked)) == 100
    assert asked == questions(turns, 100, seed=3)


def test_half_of_the_turns_know_where_they_were_said() -> None:
    turns = LANGUAGE.turns(500, seed=1)
    assert sum(turn.source is not None for turn in turns) == 250
    assert all(9 <= len(turn.content.split()) <= 31 for turn in turns)


def test_both_search_floors_find_the_turn_that_says_every_word_asked_for(tmp_path: Path) -> None:
    texts = [turn.content for turn in LANGUAGE.turns(200, seed=1)]
    texts[17] = "Anna: the lighthouseviolin of marzipanharbour was green."
    asked = ["Who has the lighthouseviolin of marzipanharbour?"]
    embedder = StaticEmbedder()
    fts5 = Fts5Floor(tmp_path / "floor.db", texts, asked)
    numpy = NumpyFloor(texts, embedder.encode(texts), asked, embedder.encode(asked))
    found = np.asarray(fts5.search(0)).ravel()
    fts5.close()
    assert found[0] == 18  # row numbers start at 1
    assert 17 in np.asarray(numpy.search(0)).tolist()


@pytest.mark.parametrize(
    ("value", "floor", "target", "met"),
    [
        (2.0, 1.0, Target(bound=1.5, sense="<="), False),
        (1.5, 1.0, Target(bound=1.5, sense="<="), True),
        (4000.0, None, Target(bound=4000, sense=">="), True),
        (6.0, 1.0, None, None),
    ],
)
def test_a_line_is_met_by_its_ratio_or_without_a_floor_by_its_value(
    value: float, floor: float | None, target: Target | None, met: bool | None
) -> None:
    line = Line(engine="sqlite", bench="add", case="one", unit="ms", value=value, floor=floor, target=target)
    assert line.met is met
