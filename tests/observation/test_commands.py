"""Conversations that are noted from the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

KEY = "telegram:42:7"
SETTINGS = """
[observational_memory]
enabled = true
message_token_threshold = 60
retained_tail_tokens = 0
"""


@pytest.fixture
def talked(terminal: Terminal, tmp_path: Path) -> Terminal:
    """A terminal in a folder with a store, in which there was a conversation."""
    (tmp_path / "lamina.toml").write_text(SETTINGS)
    for number in range(5):
        terminal.ok("session", "append", KEY, f"We decided to let berth {number} to Ann from 3 May 2026 on.")
        terminal.ok("session", "append", KEY, f"I wrote to the office about berth {number}.", "--role", "assistant")
    return terminal


def test_a_command_on_the_way_writes_no_notes(talked: Terminal) -> None:
    status = talked.ok("observe", "--json").document
    assert (status["observed_tokens"], status["observations"]) == (0, 0)
    assert status["pending_tokens"] == status["raw_tokens"] > 100
    shown = talked.ok("observe")
    assert "tokens of 1 session are not noted yet" in shown.out
    assert "lamina observe --now" in shown.err


def test_observing_now_writes_what_is_due_and_then_there_is_nothing(talked: Terminal) -> None:
    assert "1 session: " in (said := talked.ok("observe", "--now").out)
    assert "written" in said
    assert talked.ok("observe", "--now").out == "nothing was due\n"
    report = talked.ok("observe", KEY, "--now", "--all", "--json").document
    assert (report["sessions"], report["failures"], report["busy"]) == (1, [], [])


def test_a_conversation_is_drawn_in_both_widths_and_as_json(talked: Terminal) -> None:
    talked.ok("observe", "--now")
    for width in (80, 120):
        drawn = talked.run("session", "timeline", KEY, environ={"COLUMNS": str(width)}).out
        assert f"{KEY}  10 messages" in drawn
        assert "observations  ├" in drawn
        assert "user (decision): " in drawn
        assert max(map(len, drawn.splitlines())) <= width
    assert "berth" not in talked.ok("session", "timeline", KEY, "--entries", "0").out
    document = talked.ok("session", "timeline", KEY, "--json").document
    (first, *_) = document["observations"]
    assert first["first_sequence"] == 1
    assert first["entries"][0]["sources"]
    assert document["watermark"] == document["archived_through"] > 0
    recalled = talked.ok("session", "recall", "--session", KEY, "--note", first["id"], "--json").document
    assert "berth 0" in json.dumps(recalled)


def test_what_notes_save_and_cost_is_shown_for_one_session_and_for_all(talked: Terminal) -> None:
    talked.ok("observe", "--now")
    talked.ok("context", "explain", "berth", "--session", KEY)
    one = talked.ok("memory-status", KEY)
    assert "10 messages" in one.out
    assert "times " in one.out
    assert "in 1 turn, 0 % unchanged" in one.out
    every = talked.ok("memory-status")
    assert KEY in every.out
    assert "1 session in all" in every.out
    document = talked.ok("memory-status", "--json").document
    assert document["total"]["turns"] == document["sessions"][0]["turns"] == 1
    assert document["sessions"][0]["compression"] > 0
    assert talked.ok("memory-status", KEY, "--json").document["generations"] == []
    talked.ok("session", "append", "slack:1", "Hello.")
    limited = talked.ok("memory-status", "--limit", "1")
    assert "1 more" in limited.err


def test_errors_say_what_to_do(terminal: Terminal) -> None:
    terminal.ok("session", "append", KEY, "Hello.")
    assert terminal.run("observe", "--now", "--json").error["code"] == "CONFIGURATION_ERROR"
    assert "observational_memory.enabled" in terminal.run("observe", "--now").err
    assert terminal.run("session", "timeline", "nobody", "--json").error["code"] == "SESSION_NOT_FOUND"
    assert terminal.run("session", "timeline", KEY, "--entries", "-1", "--json").error["code"] == "INVALID_INPUT"
    assert terminal.run("memory-status", "nobody", "--json").error["code"] == "SESSION_NOT_FOUND"
    switched_off = terminal.ok("session", "timeline", KEY)
    assert "observational_memory is switched off" in switched_off.err


def test_no_conversation_is_no_error(terminal: Terminal) -> None:
    terminal.add("Something else")
    assert terminal.ok("memory-status").out == "no conversations\n"
    assert terminal.ok("memory-status", "--json").document["sessions"] == []
