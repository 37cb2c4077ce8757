"""Measuring the tool layer beside plain BM25."""

import json
from pathlib import Path

import pytest

from lamina.app import open
from lamina.errors import InvalidInputError
from lamina.evaluation.tools import PlainBm25, evaluate_tools, read_tools

SMALL = {
    "tools": [
        {"name": "weather", "description": "Forecast for a city."},
        {"name": "mail", "description": "Send an e-mail."},
        {"name": "deploy", "description": "Ship an application."},
    ],
    "queries": [
        {"query": "will it rain tomorrow in Paris?", "tools": ["weather"]},
        {"query": "send a mail to my mother", "tools": ["mail"]},
        {"query": "deploy the application", "tools": ["deploy", "mail"]},
    ],
}


def write(folder: Path, content: object) -> Path:
    """A file with this content."""
    path = folder / "tools.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.anyio
async def test_recall_counts_the_right_tools_among_the_first(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    async with open(":memory:", memory={"sweep_interval_s": 0.0}) as app:
        report = await evaluate_tools(
            app, read_tools(write(tmp_path, SMALL)), progress=lambda done, total: steps.append((done, total))
        )
    assert report.recall_at_1 == pytest.approx((1 + 1 + 0.5) / 3, abs=1e-4)
    assert report.bm25_recall_at_1 == pytest.approx((0 + 1 + 0.5) / 3, abs=1e-4)
    assert report.recall_at_5 >= report.recall_at_1
    assert (report.tools, report.queries) == (3, 3)
    assert steps[-1] == (3, 3)
    assert set(report.to_dict()) >= {"recall_at_1", "recall_at_5", "bm25_recall_at_1", "bm25_recall_at_5"}


def test_plain_bm25_ranks_rare_words_and_short_texts_first() -> None:
    bm25 = PlainBm25([("a", "red apple"), ("b", "red red wine and a very long text about it"), ("c", "blue sky")])
    assert bm25.search("red apple", 5) == ["a", "b"]
    assert bm25.search("nothing", 5) == []


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"tools": [{"name": "x"}], "queries": []},
        {"tools": SMALL["tools"], "queries": []},
        {"tools": SMALL["tools"], "queries": [{"query": "x", "tools": ["unknown"]}]},
        {"tools": SMALL["tools"], "queries": [{"query": "x", "tools": []}]},
    ],
)
def test_a_file_of_another_form_is_refused(content: object, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        read_tools(write(tmp_path, content))


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xff\xfe{")
    with pytest.raises(InvalidInputError):
        read_tools(path)
