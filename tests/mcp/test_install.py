"""`lamina mcp install`: the configuration of each client, printed or merged into what is there."""

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import ROOT, Terminal

FILES = {"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json", "vscode": ".vscode/mcp.json"}
TABLES = {"claude-code": "mcpServers", "cursor": "mcpServers", "vscode": "servers"}


def installed(terminal: Terminal, client: str, *words: str) -> Any:
    """What the command says it did."""
    return terminal.ok("mcp", "install", "--client", client, *words, "--json").document


@pytest.mark.parametrize("client", FILES)
def test_a_client_is_told_to_start_the_server(terminal: Terminal, tmp_path: Path, client: str) -> None:
    shown = installed(terminal, client, "--user", "ann", "--read-only")
    assert (shown["path"], shown["written"]) == (FILES[client], False)
    server = shown["configuration"][TABLES[client]]["lamina"]
    assert (server["type"], Path(server["command"]).name) == ("stdio", "lamina")
    store = str(tmp_path / "lamina.db")
    assert server["args"] == ["mcp", "--store", store, "--user", "ann", "--read-only"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("client", "secret"),
    [
        ("claude-code", "${X_LAMINA_API_KEY}"),
        ("cursor", "${env:X_LAMINA_API_KEY}"),
        ("vscode", "${input:lamina-key}"),
    ],
)
def test_a_client_is_told_to_go_to_a_service(terminal: Terminal, client: str, secret: str) -> None:
    url = "http://127.0.0.1:7077/mcp"
    shown = installed(terminal, client, "--url", url, "--key", "--user", "ann")["configuration"]
    server = shown[TABLES[client]]["lamina"]
    assert server["url"] == url
    assert server["headers"] == {"Authorization": f"Bearer {secret}", "X-Lamina-User": "ann"}
    assert ("inputs" in shown) == (client == "vscode")
    assert "headers" not in installed(terminal, client, "--url", url)["configuration"][TABLES[client]]["lamina"]


@pytest.mark.parametrize("client", FILES)
def test_writing_keeps_everything_that_was_there(terminal: Terminal, tmp_path: Path, client: str) -> None:
    path = tmp_path / FILES[client]
    path.parent.mkdir(exist_ok=True)
    before = {TABLES[client]: {"other": {"command": "x", "env": {"A": "é"}}}, "inputs": [{"id": "mine"}], "more": [1]}
    path.write_text(json.dumps(before, indent=4))
    path.chmod(0o600)
    words = ("--url", "http://127.0.0.1:7077/mcp", "--key")
    done = installed(terminal, client, *words, "--write")
    after = json.loads(path.read_text())
    assert after[TABLES[client]].pop("lamina") == done["configuration"][TABLES[client]]["lamina"]
    assert [one["id"] for one in after["inputs"]] == ["mine", *(["lamina-key"] if client == "vscode" else [])]
    assert {**after, "inputs": before["inputs"]} == before
    assert "\n    " in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(Path(done["backup"]).read_text()) == before
    assert {one.name for one in path.parent.iterdir()} == {path.name, Path(done["backup"]).name}
    again = installed(terminal, client, *words, "--write")
    assert (again["written"], "backup" in again) == (False, False)


def test_a_configuration_that_names_nobody_is_remarked_on(terminal: Terminal) -> None:
    assert "Nobody is named" in terminal.ok("mcp", "install", "--client", "cursor").err
    assert "Nobody is named" not in terminal.ok("mcp", "install", "--client", "cursor", "--project", "harbour").err


def test_writing_makes_the_file_and_its_folder(terminal: Terminal, tmp_path: Path) -> None:
    assert "Written to" in terminal.ok("mcp", "install", "--client", "vscode", "--user", "ann", "--write").err
    assert set(json.loads((tmp_path / ".vscode/mcp.json").read_text())["servers"]) == {"lamina"}


def test_another_server_of_the_name_is_replaced_only_when_asked(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.json"
    text = json.dumps({"mcpServers": {"lamina": {"command": "mine"}}})
    path.write_text(text)
    words = ("mcp", "install", "--client", "cursor", "--file", str(path), "--write", "--json")
    assert terminal.run(*words).error["code"] == "CONFLICT"
    assert path.read_text() == text
    (tmp_path / "elsewhere.json.bak").write_text("mine")
    assert terminal.ok(*words, "--replace").document["backup"] == f"{path}.bak1"
    assert ((tmp_path / "elsewhere.json.bak").read_text(), (tmp_path / "elsewhere.json.bak1").read_text()) == (
        "mine",
        text,
    )
    assert json.loads(path.read_text())["mcpServers"]["lamina"]["args"][0] == "mcp"


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {} /* mine */}'])
def test_a_file_that_cannot_be_merged_is_left_alone(terminal: Terminal, tmp_path: Path, text: str) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(text)
    refused = terminal.run("mcp", "install", "--client", "claude-code", "--write", "--json")
    assert refused.error["code"] == "INVALID_INPUT"
    assert "without --write" in refused.error["next"]
    assert path.read_text() == text
    assert os.listdir(tmp_path) == [".mcp.json"]


def test_a_folder_that_cannot_be_written_is_an_error_and_leaves_nothing(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / ".cursor").write_text("a file where a folder should be")
    refused = terminal.run("mcp", "install", "--client", "cursor", "--write", "--json")
    assert refused.error["code"] == "CONFIGURATION_ERROR"
    assert os.listdir(tmp_path) == [".cursor"]


def test_a_link_to_a_file_stays_a_link(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / ".mcp.json").symlink_to("real.json")
    installed(terminal, "claude-code", "--write")
    assert (tmp_path / ".mcp.json").is_symlink()
    assert "lamina" in (tmp_path / "real.json").read_text()


def test_the_client_finds_the_same_settings_and_store_from_anywhere(terminal: Terminal, tmp_path: Path) -> None:
    config = tmp_path / "lamina.toml"
    config.write_text('[database]\nurl = "agent.db"\n')
    words = installed(terminal, "cursor")["configuration"]["mcpServers"]["lamina"]["args"]
    assert words == ["mcp", "--config", str(config), "--store", str(tmp_path / "agent.db")]
    config.write_text('[database]\nurl = "postgresql://ann:secret@localhost/lamina"\n')
    words = installed(terminal, "cursor")["configuration"]["mcpServers"]["lamina"]["args"]
    assert words == ["mcp", "--config", str(config)]
    given = terminal.run("mcp", "install", "--client", "cursor", "--store", "postgresql://a:secret@h/x", "--json")
    assert (given.error["code"], "secret" in given.err) == ("INVALID_INPUT", False)


def test_what_cannot_be_meant_is_refused(terminal: Terminal) -> None:
    assert terminal.run("mcp", "install", "--client", "emacs", "--json").error["code"] == "INVALID_INPUT"
    words = ("mcp", "install", "--client", "cursor", "--url", "http://x/mcp", "--read-only", "--json")
    assert "--right read" in terminal.run(*words).error["message"]
    assert (
        terminal.run("mcp", "--user", "ann", "install", "--client", "cursor", "--json").error["code"] == "USAGE_ERROR"
    )


def test_the_page_shows_what_is_written(terminal: Terminal, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    shown = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]
    whole = ("--url", "http://127.0.0.1:7077/mcp", "--key", "--user", "ann")
    made = [
        installed(terminal, client, *words)["configuration"] for words in (("--user", "ann"), whole) for client in FILES
    ]
    for client, one in zip(FILES, made, strict=False):
        server = one[TABLES[client]]["lamina"]
        server["command"] = "/home/ann/.venv/bin/lamina"
        server["args"] = [word.replace(str(tmp_path), "/home/ann/harbour") for word in server["args"]]
    assert shown == made
