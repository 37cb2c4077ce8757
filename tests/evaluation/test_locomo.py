"""The evaluation on conversations: what it reads, and that its figures are those of the searches."""

import json
from pathlib import Path
from typing import Any

import pytest

from lamina.errors import InvalidInputError
from lamina.evaluation.conversations import read_conversations
from lamina.evaluation.locomo import evaluate, off_topic_questions
from tests.stores import app_on

SAMPLE: dict[str, Any] = {
    "sample_id": "s1",
    "conversation": {
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "The boiler was repaired by a plumber."}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I painted a heron.", "blip_caption": "a grey bird"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely! I am learning the cello."},
        ],
    },
    "qa": [
        {"question": "What did Ana paint?", "evidence": ["D1:1"], "category": 4},
        {"question": "Which stars did Ben see?", "evidence": ["D1:2; D2:1"], "category": 1},
        {"question": "Never asked", "evidence": ["D1:1"], "category": 5},
        {"question": "Nor this", "evidence": [], "category": 4},
    ],
}


def written(folder: Path, content: object) -> Path:
    path = folder / "sample.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_sample_is_read_in_the_order_it_was_said(tmp_path: Path) -> None:
    (conversation,) = read_conversations(written(tmp_path, [SAMPLE]))
    assert [turn.reference for turn in conversation.turns] == ["D1:1", "D1:2", "D2:1"]
    assert [question.evidence for question in conversation.questions] == [{"D1:1"}, {"D1:2", "D2:1"}]
    first = conversation.turns[0].to_memory("u")
    assert first.content == "Ana: I painted a heron. [image: a grey bird]"
    assert first.source is not None
    assert first.source.said_at is not None
    assert first.source.said_at.isoformat() == "2023-05-08T13:56:00+00:00"


@pytest.mark.parametrize("content", [{}, [], [{"qa": []}], [{"conversation": {"session_1": [{}]}, "qa": []}]])
def test_another_form_is_refused_with_the_place(tmp_path: Path, content: object) -> None:
    with pytest.raises(InvalidInputError, match=r"sample\.json"):
        read_conversations(written(tmp_path, content))


@pytest.mark.anyio
async def test_the_figures_are_those_of_the_searches(tmp_path: Path) -> None:
    conversations = read_conversations(written(tmp_path, [SAMPLE]))
    async with app_on(f"sqlite:///{tmp_path}/eval.db") as app:
        report = (await evaluate(app, conversations, off_topic=["heron", "How do volcanoes form?"])).to_dict()
    assert report["memories"] == 3
    assert report["by_category"]["single-hop"]["recall_at_10"] == 1.0
    assert report["by_category"]["single-hop"]["mrr"] == 1.0
    assert report["recall_at_10"] == (1.0 + report["by_category"]["multi-hop"]["recall_at_10"]) / 2
    assert report["questions"] == 2
    assert report["off_topic_results_mean"] >= 0.5


def test_the_shipped_off_topic_questions_are_fifty_different_ones() -> None:
    assert len(set(off_topic_questions())) == len(off_topic_questions()) == 50
