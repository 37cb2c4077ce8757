"""The rules of the house that no linter knows, as functions over source text."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePath

LONGEST_FILE = 400
REASON = re.compile(r"#.*\b(isolation|boundary): \S")
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "base", "misc"}
EVASIONS = {"skip", "skipif", "xfail", "importorskip"}


def is_too_long(source: str) -> bool:
    """Whether a file has more lines than a reader takes in at once."""
    return len(source.splitlines()) > LONGEST_FILE


def lacks_docstring(source: str) -> bool:
    """Whether a module does not say what it is for; an empty one has nothing to say."""
    return bool(source.strip()) and ast.get_docstring(ast.parse(source)) is None


def has_empty_name(path: PurePath) -> bool:
    """Whether a file or its folder is named after nothing (`utils`, `text_helpers`) or after a version."""
    return any(
        part.rpartition("_")[2] in EMPTY_WORDS or re.search(r"_v\d+$", part) is not None
        for part in path.with_suffix("").parts
    )


def broad_excepts_without_reason(source: str) -> list[int]:
    """Lines that catch everything and do not say, in a comment, which isolation or boundary asks for it."""
    lines = source.splitlines()
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and _catches_everything(node.type)
        and not REASON.search(lines[node.lineno - 1])
    ]


def _catches_everything(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_catches_everything(one) for one in caught.elts)
    return caught is None or (isinstance(caught, ast.Name) and caught.id in ("Exception", "BaseException"))


@cache
def imported_packages(source: str) -> set[str]:
    """The top-level packages a file imports anywhere, by statement or by `importlib.import_module("...")`."""
    return {name.partition(".")[0] for name in _imported_names(ast.parse(source))}


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module


def evasions(source: str) -> list[int]:
    """Lines of a test file that skip, expect a failure, or wait for the wall clock."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and (
            (node.attr in EVASIONS and ast.unparse(node.value) in ("pytest", "pytest.mark"))
            or (node.attr == "sleep" and ast.unparse(node.value) == "time")
        )
    ]


def foreign_lock_lines(lock: str) -> list[str]:
    """Lines of a lock file that say where packages came from: an address, an option, a path."""
    return [
        line for line in lock.splitlines() if re.search(r"://|^\s*-(?!-hash=)|\s-(?!-hash=)-?\w|(^|\s)/|file:", line)
    ]


def unpinned_lock_entries(lock: str) -> list[str]:
    """Packages of a lock file that are not pinned to one version with at least one hash."""
    text = re.sub(r"^\s*#.*\n", "", lock, flags=re.MULTILINE).replace("\\\n", " ")
    return [
        entry.split()[0]
        for entry in text.splitlines()
        if entry.strip() and not re.search(r"^[\w.\[\]-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry)
    ]
