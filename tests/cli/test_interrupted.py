"""`lamina reembed` as a real process that is interrupted or killed, and then goes on."""

import json
import signal
import threading
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal, process_environment, start
from tests.embedding.server import EmbeddingsServer
from tests.endpoint.loopback import Exchange, right

MEMORIES = 600
DEADLINE_S = 60


class Gate:
    """Answers until a batch of memories was stored, then says so and holds every later request."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.batches = 0

    def __call__(self, exchange: Exchange) -> None:
        if any(text.startswith("Note ") for text in exchange.body["input"]):
            self.batches += 1
        if self.batches > 2:  # a batch is two requests, so the first one is stored
            self.reached.set()
            exchange.released.wait()
        else:
            right(exchange)


@pytest.fixture
def filled(terminal: Terminal) -> Terminal:
    """A terminal with a store that takes a few batches to embed."""
    lines = (
        json.dumps({"content": f"Note {number} about the harbour", "identifiers": {"user_id": "u1"}})
        for number in range(MEMORIES)
    )
    terminal.ok("import", "-", input="\n".join(lines))
    return terminal


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_stopped_change_is_never_half_seen_and_goes_on_where_it_stopped(
    filled: Terminal, server: EmbeddingsServer, tmp_path: Path, sent: signal.Signals, status: int
) -> None:
    environ = process_environment({"LAMINA_EMBEDDING__BASE_URL": server.url, "OPENAI_API_KEY": "k"})
    words = ("reembed", "--embedder", "openai:house")
    gate = Gate()
    server.always = gate
    process = start(*words, folder=tmp_path, environ=environ)
    assert gate.reached.wait(DEADLINE_S)
    process.send_signal(sent)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (status, "")
    if sent == signal.SIGINT:
        assert "still uses its old model" in err
        assert "Traceback" not in err

    assert len(filled.ok("search", "harbour", "--user", "u1", "--json").document["results"]) == 10
    (check,) = [one for one in filled.ok("doctor", "--json").document["checks"] if one["name"] == "model"]
    assert check["state"] == "warning"
    assert "was not finished" in check["found"]

    server.always = None
    again = filled.run(*words, "--json", environ={"LAMINA_EMBEDDING__BASE_URL": server.url, "OPENAI_API_KEY": "k"})
    report = again.document
    assert report["resumed"] >= 256
    assert report["resumed"] + report["embedded"] == MEMORIES
    assert filled.run("search", "harbour", "--user", "u1", "--json").error["details"]["stored"] == report["model"]


def test_asking_for_the_model_in_use_leaves_a_change_that_still_runs_alone(
    filled: Terminal, server: EmbeddingsServer, tmp_path: Path
) -> None:
    gate = Gate()
    server.always = gate
    environ = process_environment({"LAMINA_EMBEDDING__BASE_URL": server.url, "OPENAI_API_KEY": "k"})
    with start("reembed", "--embedder", "openai:house", folder=tmp_path, environ=environ) as process:
        assert gate.reached.wait(DEADLINE_S)
        assert filled.ok("reembed").out.startswith("nothing to do")
        (check,) = [one for one in filled.ok("doctor", "--json").document["checks"] if one["name"] == "model"]
        process.kill()
    assert "was not finished" in check["found"]
