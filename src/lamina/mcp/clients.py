"""The configuration of MCP clients: where each looks for it, what it looks like, and how a file gets it."""

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from lamina.errors import ConfigurationError, ConflictError, InvalidInputError

NAME: Final = "lamina"
"""The name of the server in every configuration."""
KEY_VARIABLE: Final = "X_LAMINA_API_KEY"
"""The variable that clients take the key of a service from."""
_INPUT: Final = {
    "type": "promptString",
    "id": "lamina-key",
    "description": "Key of the Lamina service",
    "password": True,
}
_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that speaks MCP."""

    path: Path
    """Its file for one project, below the project's folder."""
    table: str
    """Where servers stand in the file."""
    key: str
    """How it takes the key from somewhere that is not the file."""
    says_http: bool = True
    """Whether a server at an address needs a type."""
    inputs: tuple[Mapping[str, object], ...] = ()
    """What it is to ask its user for, where there is a key."""


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(path=Path(".mcp.json"), table="mcpServers", key=f"${{{KEY_VARIABLE}}}"),
    "cursor": Client(
        path=Path(".cursor", "mcp.json"), table="mcpServers", key=f"${{env:{KEY_VARIABLE}}}", says_http=False
    ),
    "vscode": Client(
        path=Path(".vscode", "mcp.json"), table="servers", key=f"${{input:{_INPUT['id']}}}", inputs=(_INPUT,)
    ),
}
"""The clients there is a configuration for, by name."""


def started_by(client: Client, words: list[str]) -> dict[str, Any]:
    """The configuration of a server that the client starts itself."""
    return {client.table: {NAME: {"type": "stdio", "command": words[0], "args": words[1:]}}}


def reached_at(client: Client, url: str, headers: Mapping[str, str], *, key: bool) -> dict[str, Any]:
    """The configuration of a server at an address; with `key` the client sends one, which is not in the file."""
    sent = {**({"Authorization": f"Bearer {client.key}"} if key else {}), **headers}
    server = {**({"type": "http"} if client.says_http else {}), "url": url, **({"headers": sent} if sent else {})}
    asked = {"inputs": list(client.inputs)} if key and client.inputs else {}
    return {client.table: {NAME: server}, **asked}


def merged(path: Path, wanted: Mapping[str, Any], *, replace: bool = False) -> str | None:
    """The text of a file with a configuration in it and everything else as it was; None where it is there already.

    Raises InvalidInputError for a file that is not a JSON object, and ConflictError for one with another server of our
    name, unless that is to be replaced.
    """
    text = _read(path)
    found = _parsed(path, text)
    result = dict(found)
    for section, added in wanted.items():
        present = result.get(section, type(added)())
        if type(present) is not type(added):
            raise _unusable(path, f"{section} is not what it should be")
        result[section] = _with(path, present, added, replace)
    if result == found:
        return None
    indent = _INDENT.search(text)
    return json.dumps(result, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"


def write(path: Path, text: str) -> Path | None:
    """Put a text in the place of a file, all of it or nothing; where the file as it was is kept, if there was one.

    Raises ConfigurationError.
    """
    path = path.resolve()  # a link stays a link
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        kept = _copied(path, part)
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror}.", details={"next": "Check that you may write there."}
        ) from None
    finally:
        with suppress(OSError):
            part.unlink()
    return kept


def _copied(path: Path, part: Path) -> Path | None:
    """A copy of the file under a name that is free; what takes its place gets its rights."""
    if not path.exists():
        return None
    names = (path.with_name(f"{path.name}.bak{number or ''}") for number in count())
    kept = next(name for name in names if not name.exists())
    shutil.copy2(path, kept)
    shutil.copymode(path, part)
    return kept


def _with(path: Path, present: Any, added: Any, replace: bool) -> Any:
    if isinstance(present, list):
        return [*present, *(one for one in added if one not in present)]
    if not replace and present.get(NAME, added[NAME]) != added[NAME]:
        raise ConflictError(
            f"{path} has another server named {NAME}.",
            details={"path": str(path), "next": "Look at it; --replace puts this one in its place and keeps a copy."},
        )
    return {**present, **added}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise _unusable(path, "cannot be read") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        raise _unusable(path, "is not valid JSON (comments are not)") from None
    if not isinstance(found, dict):
        raise _unusable(path, "is not a JSON object")
    return found


def _unusable(path: Path, problem: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path}: {problem}. Nothing was changed.",
        details={"path": str(path), "next": "Run it without --write and put the printed lines into the file yourself."},
    )
