"""The evaluation of what notes keep, on a conversation made up for it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.errors import ConfigurationError
from lamina.evaluation.conversations import Conversation, read_conversations
from lamina.evaluation.retention import RetentionReport, count_lost, evaluate_retention
from lamina.observation.settings import ObservationSettings
from tests.stores import static_embedder

TOWNS = ("Bergen", "Trieste", "Cádiz", "Gdańsk", "Split", "Varna", "Ostend", "Tartu", "Faro", "Kotor", "Umeå", "Brest")
SMALL = ObservationSettings(
    enabled=True,
    message_token_threshold=250,
    observation_token_threshold=300,
    memory_token_budget=800,
    retained_tail_tokens=40,
)
"""A note every eight turns, and a memory section that cannot hold a tenth of what is said."""


def sample() -> dict[str, Any]:
    """Twelve days of two people who mostly cheer each other on; each day one of them was in another town."""
    said: dict[str, Any] = {}
    questions: list[dict[str, Any]] = []
    for day, town in enumerate(TOWNS, start=1):
        texts = [
            "Hey Bo! Good to see you! How have you been?",
            "Hey Ann! Great to hear from you. That is really so nice. What's up with you?",
            f"I visited {town} yesterday and bought {day + 1} copper lamps there. It was so much fun!",
            "Wow, that sounds amazing! You are doing so well. I am really happy and proud of you, keep it up!",
            "Thanks! Your support means a lot to me. It is always so great to talk to you about all of this.",
            "Sure! You know that I am always there for you. Have a great day, and talk to you soon!",
            f"Oh, and my cousin {town[::-1].capitalize()} plays the tuba. Take care!",
            "That is so cool! Good luck with everything, and see you soon!",
        ]
        said[f"session_{day}_date_time"] = f"1:56 pm on {day} May, 2023"
        said[f"session_{day}"] = [
            {"speaker": "Bo" if number % 2 else "Ann", "dia_id": f"D{day}:{number}", "text": text}
            for number, text in enumerate(texts)
        ]
        questions += [
            {
                "question": f"How many lamps did Ann buy in {town}?",
                "answer": f"{day + 1} copper lamps",
                "evidence": [f"D{day}:2"],
                "category": 4,
            },
            {
                "question": f"When did Ann visit {town}?",
                "answer": f"{day - 1} May 2023" if day > 1 else "30 April 2023",
                "evidence": [f"D{day}:2"],
                "category": 2,
            },
        ]
    questions += [
        {"question": "What nobody said", "evidence": ["D1:1"], "category": 5, "adversarial_answer": "no"},
        {"question": "No evidence", "answer": "x", "evidence": [], "category": 4},
        {"question": "No answer", "evidence": ["D1:1"], "category": 4},
        {"question": "Other evidence", "answer": "x", "evidence": ["D99:1"], "category": 4},
    ]
    return {"sample_id": "towns", "conversation": said, "qa": questions}


@pytest.fixture
def conversations(tmp_path: Path) -> list[Conversation]:
    path = tmp_path / "towns.json"
    path.write_text(json.dumps([sample()]), encoding="utf-8")
    return read_conversations(path)


def open_app(folder: Path, settings: ObservationSettings) -> App:
    made = Settings(database=DatabaseSettings(url=f"sqlite:///{folder}/eval.db"), observational_memory=settings)
    return App(made, embedder=static_embedder(), environ={}, observing=False)


async def evaluated(folder: Path, conversations: list[Conversation]) -> RetentionReport:
    async with open_app(folder, SMALL) as app:
        return await evaluate_retention(app, conversations)


@pytest.mark.anyio
async def test_notes_keep_more_than_raw_messages_in_the_same_budget_and_nothing_is_lost(
    tmp_path: Path, conversations: list[Conversation]
) -> None:
    report = await evaluated(tmp_path, conversations)
    kept = report.overall
    assert (kept.questions, kept.skipped_questions, kept.messages) == (24, 4, 96)
    assert kept.answer_in_prompt > max(kept.baseline_recent, kept.baseline_head)
    assert 0 < kept.baseline_recent < 0.7
    assert 0 < kept.baseline_head < 0.7
    assert kept.answer_with_recall >= kept.answer_in_prompt
    assert kept.evidence_recallable > 0.7
    assert kept.lost == 0
    assert 80 < kept.archived < 96
    assert 0 < kept.memory_tokens <= SMALL.memory_token_budget
    assert kept.compression > 2
    assert kept.reflections >= 1
    assert report.by_conversation == {"towns": kept}
    assert set(report.by_category) == {"temporal", "single-hop"}
    assert report.memory_budget == SMALL.memory_token_budget


@pytest.mark.anyio
async def test_the_report_has_the_overall_figures_at_the_top(tmp_path: Path, conversations: list[Conversation]) -> None:
    steps: list[tuple[int, int]] = []
    async with open_app(tmp_path, SMALL) as app:
        report = await evaluate_retention(app, conversations, progress=lambda done, all_: steps.append((done, all_)))
    document = report.to_dict()
    assert json.loads(json.dumps(document)) == document
    assert {
        "answer_in_prompt",
        "evidence_recallable",
        "compression",
        "lost",
        "baseline_recent",
        "baseline_head",
    } <= set(document)
    assert document["by_conversation"]["towns"]["questions"] == 24
    assert steps[0] == (1, 96 + 26)
    assert steps[-1] == (96 + 26, 96 + 26)


@pytest.mark.anyio
async def test_an_archived_message_that_comes_back_otherwise_counts_as_lost(
    tmp_path: Path, conversations: list[Conversation]
) -> None:
    (conversation,) = conversations
    async with open_app(tmp_path, SMALL) as app:
        await evaluate_retention(app, conversations)
        changed = replace(
            conversation,
            turns=tuple(
                replace(turn, text="something else") if turn.reference in ("D1:0", "D2:3") else turn
                for turn in conversation.turns
            ),
        )
        assert await count_lost(app, "eval:0:towns", conversation.turns, 80) == 0
        assert await count_lost(app, "eval:0:towns", changed.turns, 80) == 2


@pytest.mark.anyio
async def test_it_refuses_to_measure_what_is_switched_off(tmp_path: Path, conversations: list[Conversation]) -> None:
    async with open_app(tmp_path, ObservationSettings()) as app:
        with pytest.raises(ConfigurationError, match="observational"):
            await evaluate_retention(app, conversations)
