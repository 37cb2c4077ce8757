"""`lamina reembed` and `lamina calibrate`."""

import json
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

from lamina.index.calibration import calibration_texts
from tests.cli.terminal import Terminal
from tests.embedding.server import EmbeddingsServer
from tests.endpoint.loopback import fixed

SHIPPED = "static:lamina-chat-256"


@pytest.fixture
def other_model(tmp_path: Path) -> str:
    """The shipped model under another name, as an embedder's setting."""
    folder = tmp_path / "model"
    folder.mkdir()
    shipped = Path(str(files("lamina.embedding") / "data"))
    for name in ("tokenizer.json", "vectors.npy", "scales.npy"):
        (folder / name).symlink_to(shipped / name)
    (folder / "model.json").write_text(json.dumps({"name": "static:house"}))
    return f"static:{folder}"


def test_the_store_moves_to_the_new_model_and_says_how_to_keep_it(terminal: Terminal, other_model: str) -> None:
    id = terminal.add("Prefers dark mode")
    answer = terminal.ok("reembed", "--embedder", other_model)
    assert answer.out == "1 embedded; the store now uses static:house\n"
    assert f'model = "{other_model}"' in answer.err
    refused = terminal.run("search", "dark mode", "--user", "u1", "--json").error
    assert refused["code"] == "CONFIGURATION_ERROR"
    assert "lamina reembed" in refused["next"]
    Path("lamina.toml").write_text(answer.err[answer.err.index("[embedding]") :])
    hits = terminal.ok("search", "dark mode", "--user", "u1", "--json").document["results"]
    assert [hit["id"] for hit in hits] == [id]


def test_reembed_as_json_counts_and_names_both_models(terminal: Terminal, other_model: str) -> None:
    for number in range(3):
        terminal.add(f"Note {number}")
    answer = terminal.ok("reembed", "--embedder", other_model, "--json")
    assert answer.document == {"embedded": 3, "resumed": 0, "model": "static:house", "previous": SHIPPED}
    assert answer.err == ""


def test_a_store_that_uses_the_model_already_is_left_alone(terminal: Terminal) -> None:
    terminal.add("Prefers dark mode")
    assert terminal.ok("reembed").out == f"nothing to do: the store uses {SHIPPED}\n"
    assert terminal.ok("reembed", "--json").document["embedded"] == 0


def test_an_endpoint_that_fails_leaves_the_old_model_in_use(terminal: Terminal, server: EmbeddingsServer) -> None:
    terminal.add("Prefers dark mode")
    environ = {"LAMINA_EMBEDDING__BASE_URL": server.url, "OPENAI_API_KEY": "k", "LAMINA_RETRY__RETRIES": "0"}
    server.always = fixed({"error": {"message": "no"}}, status=401)
    answer = terminal.run("reembed", "--embedder", "openai:house", "--json", environ=environ)
    assert answer.error["code"] == "UNAUTHORIZED"
    assert len(terminal.ok("search", "dark mode", "--user", "u1", "--json").document["results"]) == 1


@pytest.mark.parametrize("command", ["reembed", "calibrate"])
@pytest.mark.parametrize(
    ("words", "part"),
    [((), "There is no store at lamina.db"), (("--store", "."), "is a folder")],
)
def test_without_a_store_nothing_is_created(
    terminal: Terminal, command: str, words: tuple[str, ...], part: str, tmp_path: Path
) -> None:
    error = terminal.run(command, *words, "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert part in error["message"]
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_model_is_refused_before_anything_changes(terminal: Terminal) -> None:
    terminal.add("Prefers dark mode")
    error = terminal.run("reembed", "--embedder", "static:/no/such/folder", "--json").error
    assert error["code"] == "CONFIGURATION_ERROR"
    assert terminal.ok("db", "status", "--json").document["current"] is True


def test_calibrate_says_what_it_fitted_and_to_what(terminal: Terminal) -> None:
    terminal.add("Prefers dark mode")
    shown = terminal.ok("calibrate")
    assert SHIPPED in shown.out
    assert f"{len(calibration_texts()[0])} questions" in shown.out
    assert "the same" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    document = terminal.ok("calibrate", "--json").document
    assert document["embedder"] == SHIPPED
    assert 0 < document["unrelated"] < document["related"] < 1
    assert document["changed"] is False


def test_a_calibration_that_was_lost_is_fitted_again(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode")
    with closing(sqlite3.connect(tmp_path / "lamina.db", isolation_level=None)) as store:
        store.execute("UPDATE embedding_model SET calibration = NULL")
    found = terminal.ok("doctor")
    assert "lamina calibrate" in found.out
    assert "1 warning" in found.out
    terminal.ok("calibrate")
    assert "Everything is in order." in terminal.ok("doctor").out


def test_an_endpoint_is_calibrated_like_the_shipped_model(terminal: Terminal, server: EmbeddingsServer) -> None:
    environ = {"LAMINA_EMBEDDING__BASE_URL": server.url, "LAMINA_EMBEDDING__MODEL": "openai:house"}
    server.dimensions = 64
    assert terminal.run("add", "Prefers dark mode", "--user", "u1", environ=environ).status == 0
    asked = len(server.requests)
    document = json.loads(terminal.run("calibrate", "--json", environ=environ).out)
    assert document["embedder"] == "openai:house:64"
    assert len(server.requests) > asked
