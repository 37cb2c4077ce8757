"""Skills as folders with a SKILL.md: front matter in YAML, then Markdown.

A script stands in a `bash` fence, a template in a `template` fence, each step of a composite as a JSON fence under
`### Step N`, the parameters as a JSON fence under `## Parameters`. A SKILL.md without a type is text for the agent: it
becomes a template without parameters.

Only the file itself is read: links are not followed, and what is no plain file, or too large, is refused.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Never

import yaml

from lamina.errors import InvalidInputError
from lamina.skill.define import check_skill_name
from lamina.skill.types import Skill, SkillType

FILE = "SKILL.md"
LARGEST_FILE = 1_048_576
_MOST_FILES = 1_000
_LONGEST_FRONT = 65_536
_DEEPEST = 32
_OWN = frozenset({"name", "description", "type", "status", "version", "created_by", "requires_approval"})
_FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<label>[\w+-]*)[^\n]*\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.M | re.S
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*$", re.M)
_SHELL_LABELS = frozenset({"sh", "bash", "shell", ""})
_TEXT_TYPES = frozenset({"", "instruction"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a SKILL.md says, not yet checked."""

    name: object
    description: object
    type: str
    definition: Mapping[str, object]
    parameters: Mapping[str, object] | None
    metadata: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A folder that may hold a skill: the text of its SKILL.md, or why it cannot be read."""

    folder: str
    text: str = ""
    problem: str | None = None
    left_out: tuple[str, ...] = ()


def find_folders(path: Path, *, most: int) -> list[Found]:
    """The folder itself when it holds a SKILL.md, else every folder in it that does, by name.

    Hidden folders are passed over. Raises InvalidInputError for what is no folder, or holds more than `most`.
    """
    if not path.is_dir():
        _refuse(f"There is no folder {path}.")
    if os.path.lexists(path / FILE):
        return [_read_folder(path)]
    inside = sorted(one for one in path.iterdir() if not one.name.startswith(".") and os.path.lexists(one / FILE))
    if len(inside) > most:
        _refuse(f"{path} holds {len(inside)} skills; one import takes at most {most}.", most=most)
    if not inside:
        _refuse(f"There is no {FILE} in {path} or in a folder in it.")
    return [_read_folder(one) for one in inside]


def _read_folder(folder: Path) -> Found:
    try:
        # Every name is opened relative to the folder as it was opened: nobody can put a link there in between.
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            names = sorted(os.listdir(opened))[:_MOST_FILES]
            text = _read_file(opened)
        finally:
            os.close(opened)
    except OSError as error:
        return Found(folder=folder.name, problem=f"{FILE} cannot be read: {error.strerror}")
    except (InvalidInputError, UnicodeDecodeError) as error:
        return Found(folder=folder.name, problem=str(error))
    rest = tuple(f"{folder.name}/{name}" for name in names if name != FILE)
    return Found(folder=folder.name, text=text, left_out=rest)


def _read_file(folder: int) -> str:
    # Without waiting, because opening a pipe would.
    opened = os.open(FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            _refuse(f"{FILE} is no plain file.")
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        _refuse(f"{FILE} is larger than {LARGEST_FILE} bytes.")
    text = content.decode("utf-8-sig")
    return text.replace("\r\n", "\n") if text.startswith("---\r\n") else text


def parse_document(text: str) -> Document:
    """What the text of a SKILL.md says. Raises InvalidInputError for what is none."""
    front, body = _split(text)
    fields = _front_matter(front)
    kind = fields.get("type", "")
    if not isinstance(kind, str):
        _refuse("The type in the front matter must be text.")
    metadata = {name: value for name, value in fields.items() if name not in _OWN}
    definition, parameters = _content(kind, body)
    return Document(
        name=fields.get("name"),
        description=fields.get("description"),
        type=SkillType.TEMPLATE.value if kind in _TEXT_TYPES else kind,
        definition=definition,
        parameters=parameters,
        metadata=metadata,
    )


def render_document(skill: Skill) -> str:
    """The text of a skill's SKILL.md."""
    front = {
        "name": skill.name,
        "description": skill.description,
        "type": skill.type.value,
        "status": skill.status.value,
        "version": skill.version,
        "created_by": skill.created_by,
        **skill.metadata,
    }
    parts = ["---\n" + yaml.safe_dump(front, sort_keys=False, allow_unicode=True) + "---\n", f"# {skill.name}\n"]
    parts += ["## Parameters\n", _fenced("json", _pretty(skill.parameters))]
    if skill.type is SkillType.COMPOSITE:
        steps: list[object] = skill.definition["steps"]  # type: ignore[assignment]
        for at, step in enumerate(steps, start=1):
            parts += [f"### Step {at}\n", _fenced("json", _pretty(step))]
    else:
        label = "bash" if skill.type is SkillType.SCRIPT else "template"
        parts += [f"## {label.capitalize()}\n", _fenced(label, str(skill.definition[skill.type.value]))]
    return "\n".join(parts)


def write_folder(parent: Path, skill: Skill, *, overwrite: bool) -> Path:
    """Write a skill's folder into `parent` and return the file.

    Raises InvalidInputError when it exists (unless `overwrite`), is a link, or cannot be written.
    """
    name = check_skill_name(skill.name)
    content = render_document(skill).encode("utf-8")
    try:
        parent.mkdir(parents=True, exist_ok=True)
        within = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _write(within, name, content, overwrite=overwrite)
        finally:
            os.close(within)
    except FileExistsError:
        _refuse(f"{parent / name / FILE} exists; say that it may be replaced, or choose another folder.")
    except OSError as error:
        _refuse(f"{parent / name} cannot be written: {error.strerror}")
    return parent / name / FILE


def _write(within: int, name: str, content: bytes, *, overwrite: bool) -> None:
    with suppress(FileExistsError):  # what is there is opened without following links
        os.mkdir(name, mode=0o700, dir_fd=within)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        if not overwrite and FILE in os.listdir(folder):
            raise FileExistsError
        # Written beside and renamed, so that nobody ever reads half of it.
        beside = f".{FILE}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(beside, flags, mode=0o600, dir_fd=folder), "wb") as file:
            file.write(content)
        os.rename(beside, FILE, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _split(text: str) -> tuple[str, str]:
    if not text.startswith("---\n"):
        _refuse(f"{FILE} must begin with front matter between two lines of ---.")
    front, found, body = text[4:].partition("\n---\n")
    if not found:
        front, found, body = text[4:].partition("\n---")
    if not found:
        _refuse("The front matter is not closed by a line of ---.")
    return front, body


def _front_matter(front: str) -> dict[str, object]:
    if len(front) > _LONGEST_FRONT:
        _refuse(f"The front matter has more than {_LONGEST_FRONT} characters.")
    depth = 0
    try:
        for event in yaml.parse(front, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):  # a few lines of them can stand for gigabytes
                _refuse("The front matter must not use aliases.")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:  # the reader's time grows with the square of it
                _refuse(f"The front matter is nested more than {_DEEPEST} deep.")
        fields = yaml.safe_load(front)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = getattr(error, "problem", None) or type(error).__name__
        _refuse(f"The front matter is not YAML: {problem}")
    if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
        _refuse("The front matter must be names and values.")
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner) for inner in value]
    return value


def _content(kind: str, body: str) -> tuple[Mapping[str, object], Mapping[str, object] | None]:
    if kind in _TEXT_TYPES:
        return {"template": _raw(body.strip("\n"))}, {}
    parameters: Mapping[str, object] | None = None
    steps: list[object] = []
    texts: list[tuple[str, str]] = []
    for heading, label, text in _fences(body):
        if heading.lower() == "parameters" and label == "json":
            parameters = _json_object(text)
        elif re.fullmatch(r"step \d+", heading.lower()) and label == "json":
            steps.append(_json(text, heading))
        else:
            texts.append((label, text))
    if kind == SkillType.COMPOSITE:
        return {"steps": steps}, parameters
    wanted = _SHELL_LABELS if kind == SkillType.SCRIPT else {"template"}
    found = [text for label, text in texts if label in wanted]
    if len(found) != 1:
        _refuse(f"A {kind[:40]} needs exactly one fence with its content; there are {len(found)}.")
    return {"script" if kind == SkillType.SCRIPT else "template": found[0]}, parameters


def _fences(body: str) -> list[tuple[str, str, str]]:
    """Every fence with the heading above it and its label; headings inside fences are text."""
    found: list[tuple[str, str, str]] = []
    heading, at = "", 0
    for fence in _FENCE.finditer(body):
        above = _HEADING.findall(body[at : fence.start()])
        heading = above[-1] if above else heading
        found.append((heading, fence["label"], fence["body"].removesuffix("\n")))
        at = fence.end()
    return found


def _raw(text: str) -> str:
    """A text as a template that shows exactly this."""
    if not any(sign in text for sign in ("{{", "{%", "{#")):
        return text
    if re.search(r"\{%-?\s*endraw", text):
        _refuse("The text holds {% endraw %}; give it a type and a template fence.")
    return "{% raw %}" + text + "{% endraw %}"


def _json(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        _refuse(f"{what}: this is not JSON: {error}")


def _json_object(text: str) -> Mapping[str, object]:
    value = _json(text, "The parameters")
    if not isinstance(value, dict):
        _refuse("The parameters must be a JSON object.")
    return value


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _fenced(label: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{label}\n{text}\n{fence}\n"


def _refuse(message: str, **details: object) -> Never:
    raise InvalidInputError(message, details={"field": FILE, **details})
