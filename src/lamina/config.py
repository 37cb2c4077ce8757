"""Configuration: defaults, a TOML file, the environment and arguments, read once, when asked.

Each source overrides the ones before it, field by field, and every value remembers where it came from. A name
that does not exist is an error wherever it stands: a misspelt limit, silently ignored, is worse than none.
Secrets do not belong here: names that end in `_key_env` name the variable that holds the key. A relative path,
such as the default store `lamina.db`, is relative to the working directory.
"""

import ast
import difflib
import inspect
import os
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from lamina.access.settings import ServerSettings
from lamina.context.settings import ContextSettings
from lamina.database.settings import DatabaseSettings
from lamina.embedding.settings import EmbeddingSettings
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ConfigurationError
from lamina.graph.settings import GraphSettings
from lamina.index.settings import IndexSettings
from lamina.kernel.retry import RetryPolicy
from lamina.kernel.text import mask_secrets
from lamina.knowledge.settings import KnowledgeSettings
from lamina.learning.settings import LearningSettings
from lamina.llm.settings import LlmSettings
from lamina.memory.settings import MemorySettings
from lamina.observability.settings import LoggingSettings
from lamina.observation.settings import ObservationSettings
from lamina.session.settings import SessionSettings
from lamina.skill.settings import SkillSettings

DEFAULT_FILE = "lamina.toml"
_PREFIX = "LAMINA_"
_FILE_VARIABLE = "LAMINA_CONFIG"
_SHORT = {"LAMINA_STORE": "database.url"}


class Settings(BaseModel):
    """Every knob of the house, one section per room."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    database: DatabaseSettings = DatabaseSettings()
    index: IndexSettings = IndexSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    llm: LlmSettings = LlmSettings()
    memory: MemorySettings = MemorySettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    learning: LearningSettings = LearningSettings()
    skill: SkillSettings = SkillSettings()
    graph: GraphSettings = GraphSettings()
    session: SessionSettings = SessionSettings()
    context: ContextSettings = ContextSettings()
    retry: RetryPolicy = RetryPolicy()
    observational_memory: ObservationSettings = ObservationSettings()
    server: ServerSettings = ServerSettings()
    proxy: ProxySettings = ProxySettings()
    logging: LoggingSettings = LoggingSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One line of `lamina config show`."""

    name: str
    """The dotted name, such as `memory.threshold`."""
    value: object
    """The effective value, with secrets masked."""
    origin: str
    """Where it came from."""
    help: str
    """What it does."""
    type: str
    """What it takes, in words: `number`, `"text" or "json"`."""
    variable: str
    """The environment variable that sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """The effective settings and where each value came from."""

    settings: Settings
    origins: Mapping[str, str]
    """The source of every value that is not a default, by dotted name."""

    def origin(self, name: str) -> str:
        """`default`, `file PATH`, `environment VARIABLE` or `argument`.

        Raises ConfigurationError for a name that does not exist.
        """
        if name not in _names():
            raise _unknown(name, "there is no setting")
        return self.origins.get(name, "default")

    def rows(self) -> Iterator[SettingRow]:
        """Every setting in the order of its section, ready to be shown: secrets are masked."""
        for section, kind in _sections().items():
            values = getattr(self.settings, section)
            helps = _field_docs(kind)
            for field in fields(kind):
                name = f"{section}.{field.name}"
                value = getattr(values, field.name)
                shown = mask_secrets(value) if isinstance(value, str) else value
                yield SettingRow(
                    name=name,
                    value=shown,
                    origin=self.origin(name),
                    help=helps.get(field.name, ""),
                    type=_in_words(field.type),
                    variable=_variable(name),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """A value somebody set, and where."""

    value: object
    origin: str


def load_settings(
    path: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
    **sections: object,
) -> LoadedSettings:
    """The effective settings: defaults, then the file, then the environment, then the arguments.

    The file is `path`, else the one $LAMINA_CONFIG names, else `lamina.toml` in the working directory if it
    is there. `environ` stands in for the process's environment. Arguments are sections, as keywords or in
    `overrides` (`memory={"threshold": 0.5}`, or a settings object), and in `overrides` also dotted names
    (`{"memory.threshold": 0.5}`).
    Raises ConfigurationError, naming source and field, for a file that cannot be read, an unknown name (with
    the nearest one that exists) and a value of the wrong type or out of range.
    """
    variables = os.environ if environ is None else environ
    given = _from_file(path, variables)
    given |= _from_environment(variables)
    given |= _flatten(sections, origin="argument") | _flatten(overrides or {}, origin="argument")
    _refuse_unknown_variables(variables, given)
    nested: dict[str, dict[str, object]] = {}
    for name, item in given.items():
        section, field = name.split(".")
        nested.setdefault(section, {})[field] = item.value
    origins = {name: item.origin for name, item in given.items()}
    try:
        settings = Settings.model_validate(nested)
    except ValidationError as error:
        problems = [_problem(each["loc"], each["msg"], origins) for each in error.errors(include_input=False)]
        raise ConfigurationError("; ".join(problems), details={"problems": problems}) from None
    return LoadedSettings(settings=settings, origins=origins)


def settings_file(path: Path | None = None, *, environ: Mapping[str, str] | None = None) -> Path | None:
    """The file that settings are read from, None where there is none; a named one need not exist."""
    named = (os.environ if environ is None else environ).get(_FILE_VARIABLE)
    if path is not None or named:
        return path or Path(named or "")
    default = Path(DEFAULT_FILE)
    return default if default.is_file() else None


def _from_file(path: Path | None, environ: Mapping[str, str]) -> dict[str, _Given]:
    path = settings_file(path, environ=environ)
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}") from error
    return _flatten(content, origin=f"file {path}")


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    variables = _SHORT | {_variable(name): name for name in _names()}
    # The short names come first, so that the full name of the same setting wins.
    return {
        name: _Given(value=_read(name, environ[variable]), origin=f"environment {variable}")
        for variable, name in variables.items()
        if variable in environ
    }


def _read(name: str, text: str) -> object:
    """A variable's text as the setting takes it: a list has commas between its values."""
    if get_origin(_types()[name]) is not tuple:
        return text
    return tuple(part for value in text.split(",") if (part := value.strip()))


def _refuse_unknown_variables(environ: Mapping[str, str], given: Mapping[str, _Given]) -> None:
    keys = {item.value for name, item in given.items() if name.endswith("_key_env")}
    known = {_FILE_VARIABLE, *_SHORT, *map(_variable, _names()), *keys}
    for variable in environ:
        if variable.startswith(_PREFIX) and variable not in known:
            candidates = [_FILE_VARIABLE, *_SHORT, *map(_variable, _names())]
            raise _unknown(variable, "environment: there is no variable", candidates)


def _flatten(content: Mapping[str, object], *, origin: str) -> dict[str, _Given]:
    """Dotted names and sections alike as dotted names; ConfigurationError for a name that does not exist."""
    flat: dict[str, _Given] = {}
    for key, value in content.items():
        if key in _sections():
            for field, inner in _section_items(key, value, origin):
                flat[f"{key}.{field}"] = _Given(value=inner, origin=origin)
        else:
            flat[key] = _Given(value=value, origin=origin)
    for name in flat:
        if name not in _names():
            candidates = [*_sections(), *_names()]
            raise _unknown(name, f"{origin}: there is no setting", candidates)
    return flat


def _section_items(section: str, value: object, origin: str) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [(str(field), inner) for field, inner in value.items()]
    if is_dataclass(value) and isinstance(value, _sections()[section]):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    raise ConfigurationError(f"{origin}: {section} is a section and needs names and values")


def _problem(location: tuple[int | str, ...], message: str, origins: Mapping[str, str]) -> str:
    """One refused value as `source: name: reason`; a section's own check names its fields in the message."""
    message = message.removeprefix("Value error, ")
    section = str(location[0])
    if len(location) > 1:
        mentioned = [f"{section}.{location[1]}"]
    else:
        words = re.findall(r"\w+", message)
        mentioned = [name for word in words if (name := f"{section}.{word}") in _names()] or [section]
    name = next((name for name in mentioned if name in origins), mentioned[0])
    return f"{origins.get(name, 'default')}: {name}: {message}"


def _unknown(name: str, complaint: str, candidates: list[str] | None = None) -> ConfigurationError:
    near = difflib.get_close_matches(name, candidates or _names(), n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ConfigurationError(f"{complaint} {name}{hint}", details={"name": name, "nearest": near})


def _sections() -> dict[str, type[Any]]:
    return {name: type(field.default) for name, field in Settings.model_fields.items()}


def _types() -> dict[str, Any]:
    return {f"{section}.{field.name}": field.type for section, kind in _sections().items() for field in fields(kind)}


def _names() -> list[str]:
    return list(_types())


def _variable(name: str) -> str:
    return _PREFIX + name.replace(".", "__").upper()


def _in_words(kind: Any) -> str:
    """A type as a reader of the settings knows it."""
    simple = {str: "text", int: "whole number", float: "number", bool: "true or false", NoneType: "unset"}
    if kind in simple:
        return simple[kind]
    if get_origin(kind) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(kind))
    if get_origin(kind) is tuple:
        return f"list of {_in_words(get_args(kind)[0])}"
    return " or ".join(map(_in_words, get_args(kind)))


def _field_docs(kind: type[Any]) -> dict[str, str]:
    """The string under each field of a settings class; empty where the source is not at hand."""
    try:
        source = inspect.getsource(kind)
    except OSError:
        return {}
    definition = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                docs[name] = " ".join(doc.split())
    return docs
