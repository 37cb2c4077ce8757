"""`lamina init`: a file with settings that work, or a word on what does not."""

import tomllib
from pathlib import Path

import pytest

from lamina.cli.init_file import Choices, settings_text
from lamina.config import load_settings
from tests.cli.terminal import Terminal
from tests.llm.scripted import ChatServer, running


def test_the_defaults_work_and_every_room_is_open(terminal: Terminal, tmp_path: Path) -> None:
    shown = terminal.ok("init", "--yes")
    assert "wrote lamina.toml" in shown.out
    assert "lamina serve" in shown.err
    assert max(map(len, shown.out.splitlines())) <= 80
    settings = load_settings(tmp_path / "lamina.toml").settings
    assert settings.knowledge.enabled
    assert settings.graph.enabled
    assert settings.observational_memory.enabled
    assert (tmp_path / "lamina.db").exists()
    assert terminal.ok("knowledge", "list", "--json").document["total_count"] == 0


def test_a_file_that_is_there_is_replaced_only_by_force(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "lamina.toml").write_text('[database]\nurl = "mine.db"\n')
    refused = terminal.run("init", "--yes", "--json")
    assert (refused.status, refused.error["code"]) == (1, "INVALID_INPUT")
    assert "mine.db" in (tmp_path / "lamina.toml").read_text()
    terminal.ok("init", "--yes", "--force", "--memory-only", "--store", "new.db")
    settings = load_settings(tmp_path / "lamina.toml").settings
    assert (settings.database.url, settings.knowledge.enabled) == ("new.db", False)


def test_a_model_is_asked_before_it_is_relied_on(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "k")
    with running(ChatServer()) as server:
        server.say("ok")
        words = ("--model", "tiny", "--base-url", server.url, "--api-key-env", "MY_KEY")
        document = terminal.ok("init", *words, "--json").document
    assert [check["state"] for check in document["checks"]] == ["ok", "ok", "ok"]
    assert "tiny" in document["checks"][2]["found"]
    assert "MY_KEY" in (tmp_path / "lamina.toml").read_text()


def test_what_does_not_answer_is_told_and_the_file_stays(terminal: Terminal, tmp_path: Path) -> None:
    words = ("--store", "postgresql://me:secret@127.0.0.1:1/none", "--embedder", "static", "--config", "other.toml")
    answer = terminal.run("init", *words, "--yes", "--json")
    assert answer.status == 1
    states = {check["name"]: check["state"] for check in answer.document["checks"]}
    assert states == {"embedder": "ok", "store": "problem", "chat model": "not checked"}
    assert "secret" not in answer.out
    assert (tmp_path / "other.toml").stat().st_mode & 0o077 == 0
    unknown = terminal.run("init", "--embedder", "crystal:ball", "--yes", "--json")
    assert unknown.document["checks"][0]["state"] == "problem"


def test_in_a_terminal_it_asks(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.cli.init._is_terminal", lambda: True)
    shown = terminal.run("init", input="asked.db\n\n\nn\n")
    assert shown.status == 0, shown.err
    assert "Which embedder" in shown.err
    settings = load_settings(tmp_path / "lamina.toml").settings
    assert (settings.database.url, settings.knowledge.enabled, settings.llm.model) == ("asked.db", False, None)


def test_whatever_is_chosen_reads_back(tmp_path: Path) -> None:
    strange = 'C:\\data\\"quoted" ü\n'
    chosen = Choices(store=strange, embedder="openai:x", model=strange, base_url="http://h/v1", api_key_env="KEY")
    told = tomllib.loads(settings_text(chosen))
    assert told["database"]["url"] == told["llm"]["model"] == strange
    assert told["embedding"] == {"model": "openai:x", "base_url": "http://h/v1", "api_key_env": "KEY"}
