"""The face of the package: few names, each documented and typed, and an import that costs next to nothing."""

import importlib
import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina.memory.hierarchy import Hierarchy
from lamina.memory.service import MemoryService

# Whoever adds a name here makes a promise to every user; think twice.
NAMES = {
    "App",
    "Identifiers",
    "LaminaError",
    "MemoryEntry",
    "MemoryLayer",
    "NewMemory",
    "SearchResults",
    "Settings",
    "Source",
    "__version__",
    "open",
}
HEAVY = ("numpy", "sqlalchemy", "alembic", "pydantic", "opentelemetry", "anyio", "asyncio", "tokenizers", "psycopg")


def imported_by(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sys.modules)"
    command = [sys.executable, "-W", "error", "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return {name.split(".")[0] for name in ended.stdout.split()}


def test_the_public_names_are_these_and_no_more() -> None:
    assert set(lamina.__all__) == NAMES
    assert set(dir(lamina)) == NAMES | {"sync"}
    with pytest.raises(AttributeError, match="nonsense"):
        lamina.nonsense  # noqa: B018
    assert all(getattr(lamina, name) is not None for name in dir(lamina))


def test_a_star_import_gives_the_public_names() -> None:
    found: dict[str, object] = {}
    exec("from lamina import *", found)
    assert set(found) - {"__builtins__"} == NAMES


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert imported_by("import lamina; lamina.__version__").isdisjoint(HEAVY)
    assert "sqlalchemy" in imported_by("import lamina; lamina.open")


def test_the_nouns_of_memory_do_not_bring_the_store_along() -> None:
    found = imported_by("import lamina; lamina.MemoryLayer, lamina.NewMemory, lamina.LaminaError")
    assert found.isdisjoint({"sqlalchemy", "numpy", "alembic"})


def public_classes() -> Iterator[type]:
    for name in lamina.__all__:
        value = getattr(lamina, name)
        if inspect.isclass(value):
            yield value
    yield from (MemoryService, Hierarchy, lamina.sync.SyncApp, lamina.sync.SyncMemory, lamina.sync.SyncHierarchy)


def public_callables() -> Iterator[tuple[str, typing.Any]]:
    yield "open", lamina.open
    yield "sync.open", lamina.sync.open
    for kind in public_classes():
        for name, member in vars(kind).items():
            function = (
                member.fget if isinstance(member, property) else inspect.unwrap(getattr(member, "__func__", member))
            )
            if not name.startswith("_") and inspect.isfunction(function):
                yield f"{kind.__name__}.{name}", function


def test_every_public_class_and_verb_is_documented() -> None:
    assert lamina.__doc__
    assert [kind.__name__ for kind in public_classes() if not kind.__doc__] == []
    assert [name for name, verb in public_callables() if not inspect.getdoc(verb)] == []


def test_every_public_verb_is_typed_throughout() -> None:
    untyped = []
    for name, verb in public_callables():
        hints = set(verb.__annotations__)
        wanted = {each for each in inspect.signature(verb).parameters if each not in ("self", "cls")} | {"return"}
        untyped += [f"{name}: {missing}" for missing in wanted - hints]
    assert untyped == []


def test_the_types_reach_the_users_of_the_package() -> None:
    assert (Path(lamina.__file__).parent / "py.typed").is_file()


def test_the_version_is_that_of_the_distribution() -> None:
    assert importlib.import_module("importlib.metadata").version("lamina") == lamina.__version__
