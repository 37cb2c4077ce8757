"""`lamina proxy` as a process: it says where it listens, answers, and stops when it is told to."""

import json
import signal
import socket
from pathlib import Path

import httpx2
import pytest

from tests.cli.terminal import Terminal, start
from tests.llm.scripted import ChatServer, running


def test_it_says_where_it_listens_answers_and_ends_well(tmp_path: Path, terminal: Terminal) -> None:
    with running(ChatServer()) as upstream:
        process = start("proxy", "--upstream", upstream.url, "--port", "0", "--json", folder=tmp_path)
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], "it ended before it listened"
        document = json.loads("".join(lines))
        assert document["upstream"] == upstream.url
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        answer = httpx2.post(
            f"{document['url']}/chat/completions", json=body, headers={"X-Lamina-Session": "cli:1"}, timeout=60
        )
        assert answer.json()["choices"][0]["message"]["content"] == "Hello."
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    stored = terminal.ok("session", "show", "cli:1", "--json").document
    assert [message["content"] for message in stored["messages"]] == ["Hi", "Hello."]


def test_it_needs_an_upstream_and_makes_no_store_without_one(tmp_path: Path, terminal: Terminal) -> None:
    error = terminal.run("proxy", "--json").error
    assert list(tmp_path.iterdir()) == []
    assert error["code"] == "CONFIGURATION_ERROR"
    assert "--upstream" in error["next"]


@pytest.mark.parametrize("address", ["nowhere", "ftp://x/v1", "http://user:pass@x/v1", "http://x/v1?a=b"])
def test_an_address_that_cannot_be_asked_is_refused(terminal: Terminal, address: str) -> None:
    error = terminal.run("proxy", "--upstream", address, "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert "pass" not in error["message"].replace("pass on", "")


def test_a_port_that_is_taken_is_named(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = terminal.run("proxy", "--upstream", "http://127.0.0.1:9/v1", "--port", str(port), "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert str(port) in error["message"]


def test_other_machines_are_not_let_in_without_a_key(terminal: Terminal) -> None:
    error = terminal.run("proxy", "--upstream", "http://127.0.0.1:9/v1", "--host", "0.0.0.0", "--json").error
    assert "access_key_env" in error["next"]


def test_a_port_that_is_none_is_refused(terminal: Terminal) -> None:
    error = terminal.run("proxy", "--upstream", "http://127.0.0.1:9/v1", "--port", "70000", "--json").error
    assert "port must be from 0 to 65535" in error["message"]
