"""`lamina serve` as a process: it says where it listens, answers, and stops when it is told to."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.cli.terminal import Terminal, start

Process = subprocess.Popen[str]


def announced(process: Process) -> dict[str, Any]:
    """The document that a process prints once it listens."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] != "}\n":
        lines.append(process.stdout.readline())
        assert lines[-1], "it ended before it listened"
    document: dict[str, Any] = json.loads("".join(lines))
    return document


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    """A service on a store that is not there yet; the page has tests of its own, and takes long to start."""
    quick = {"LAMINA_SERVER__PAGE": "false", "LAMINA_SERVER__MCP": "false"}
    one = start("serve", "--store", "agent.db", "--port", "0", "--json", folder=tmp_path, environ=quick)
    yield one
    one.kill()
    one.communicate()


def test_it_says_where_it_listens_answers_and_ends_well(process: Process, terminal: Terminal) -> None:
    document = announced(process)
    assert (document["store"], document["keys"]) == ("agent.db", False)
    body = {"content": "Prefers dark mode", "identifiers": {"user_id": "ann"}}
    assert httpx2.post(f"{document['api']}/memories", json=body, timeout=60).status_code == 201
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    found = terminal.ok("search", "theme", "--user", "ann", "--store", "agent.db", "--json").document
    assert [one["content"] for one in found["results"]] == ["Prefers dark mode"]


def test_a_second_signal_ends_it_at_once(process: Process) -> None:
    port = urlsplit(announced(process)["url"]).port
    with socket.create_connection(("127.0.0.1", port or 0)) as endless:
        endless.sendall(b"POST /v1/import HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n")
        assert httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=60).status_code == 200
        process.send_signal(signal.SIGINT)
        while _is_reachable(port or 0):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    assert process.returncode == -signal.SIGTERM


def _is_reachable(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def test_a_port_that_is_taken_is_named(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = terminal.run("serve", "--port", str(port), "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert str(port) in error["message"]


def test_other_machines_are_not_let_in_without_a_key(terminal: Terminal) -> None:
    error = terminal.run("serve", "--host", "0.0.0.0", "--json").error
    assert "lamina key create" in error["next"]


def test_a_port_that_is_none_is_refused_and_makes_no_store(tmp_path: Path, terminal: Terminal) -> None:
    error = terminal.run("serve", "--port", "70000", "--json").error
    assert "port must be from 0 to 65535" in error["message"]
    assert list(tmp_path.iterdir()) == []
