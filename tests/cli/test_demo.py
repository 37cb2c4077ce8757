"""`lamina demo` and `lamina eval`."""

import json
from pathlib import Path

import pytest

from lamina.cli.demo_sample import QUESTIONS
from lamina.cli.invocation import Invocation
from lamina.config import Settings
from tests.cli.terminal import Terminal


def test_the_demo_answers_its_questions_and_leaves_nothing_behind(terminal: Terminal, tmp_path: Path) -> None:
    shown = terminal.ok("demo")
    assert all(question in shown.out for question, _ in QUESTIONS)
    assert "Next steps" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == []


def test_the_demo_can_be_kept_in_a_tenant_of_its_own(terminal: Terminal) -> None:
    answers = terminal.ok("demo", "--store", "demo.db", "--json").document
    assert [answer["query"] for answer in answers] == [question for question, _ in QUESTIONS]
    assert terminal.ok("demo", "--store", "demo.db", "--json").document == answers
    assert terminal.ok("list", "--user", "ana", "--store", "demo.db", "--json").document["total_count"] == 0


def test_conversations_are_evaluated_from_a_file(terminal: Terminal, tmp_path: Path) -> None:
    turns = ["I keep my boat in the harbour of Bergen.", "My sister Ida plays the cello.", "We moved here in May."]
    conversation = {
        "sample_id": "one",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": f"D1:{number}", "text": text} for number, text in enumerate(turns, 1)
            ],
        },
        "qa": [{"question": "What does Ida play?", "answer": "cello", "evidence": ["D1:2"], "category": 4}],
    }
    (tmp_path / "few.json").write_text(json.dumps([conversation]))
    document = terminal.ok("eval", "locomo", "few.json", "--json").document
    assert (document["questions"], document["recall_at_5"]) == (1, 1.0)
    assert "recall@5" in terminal.ok("eval", "locomo", "few.json").out


def test_what_notes_keep_is_evaluated_from_a_file(terminal: Terminal, tmp_path: Path) -> None:
    told = [f"Yesterday I sold {number} lamps to customer number {number} in Bergen." for number in range(1, 81)]
    told[2] = "I adopted a guinea pig named Oscar in Trondheim."
    conversation = {
        "sample_id": "lamps",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Bo" if number % 2 else "Ann", "dia_id": f"D1:{number}", "text": text}
                for number, text in enumerate(told)
            ],
        },
        "qa": [{"question": "Who is Oscar?", "answer": "a guinea pig", "evidence": ["D1:2"], "category": 4}],
    }
    (tmp_path / "lamps.json").write_text(json.dumps([conversation]))
    document = terminal.ok("eval", "retention", "lamps.json", "--json").document
    assert (document["questions"], document["lost"], document["answer_in_prompt"]) == (1, 0, 1.0)
    assert document["archived"] > 40
    shown = terminal.ok("eval", "retention", "lamps.json").out
    assert "lamps" in shown
    assert "memory_budget 4000" in shown


def test_a_file_that_is_not_there_or_no_conversation_is_refused(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.run("eval", "locomo", "nowhere.json", "--json").error["code"] == "USAGE_ERROR"
    (tmp_path / "other.json").write_text("{")
    assert terminal.run("eval", "locomo", "other.json", "--json").error["code"] == "INVALID_INPUT"


def test_a_store_is_filled_with_the_story_once_and_served(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Settings] = []

    async def serve(call: Invocation, settings: Settings) -> None:
        served.append(settings)

    monkeypatch.setattr("lamina.cli.serve._serve", serve)
    assert terminal.ok("demo", "--fill", "--json").document == {"store": "lamina-demo.db", "filled": True}
    assert "already" in terminal.ok("demo", "--fill").out
    terminal.ok("serve", "--demo")
    (settings,) = served
    assert (settings.database.url, settings.knowledge.enabled) == ("lamina-demo.db", True)
    assert [path.name for path in tmp_path.iterdir()] == ["lamina-demo.db"]
