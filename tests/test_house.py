"""The rules of the house, checked on the house and, so that each can fail, on made-up source."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path, PurePath

import pytest

from tests.house_rules import (
    LONGEST_FILE,
    broad_excepts_without_reason,
    evasions,
    foreign_lock_lines,
    has_empty_name,
    imported_packages,
    is_too_long,
    lacks_docstring,
    unpinned_lock_entries,
)

PROJECT = Path(__file__).parent.parent
SOURCE = PROJECT / "src"
FILES = sorted(SOURCE.rglob("*.py"))
LOCK = (PROJECT / "requirements" / "dev.txt").read_text(encoding="utf-8")
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOORS = {"api", "endpoint", "mcp", "page", "proxy", "server"}
HEAVY = {"numpy", "sqlalchemy", "alembic", "pydantic", "tokenizers", "typer", "rich", "opentelemetry"}


def room(path: Path) -> str:
    """The folder below `lamina` that a file is in."""
    return path.relative_to(SOURCE / "lamina").parts[0]


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(PROJECT)) for path in paths]


def distribution(requirement: str) -> str:
    """`psycopg[binary]>=3.2` is `psycopg`, in the spelling that makes names comparable."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def imports_of(*modules: str, folder: Path = SOURCE) -> dict[str, list[str]]:
    """What importing the modules in a new process loads and does."""
    probe = [sys.executable, str(PROJECT / "tests" / "import_probe.py"), *modules]
    run = subprocess.run(probe, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"the modules cannot be imported:\n{run.stderr[-2000:]}"
    result: dict[str, list[str]] = json.loads(run.stdout)
    return result


def test_no_file_is_too_long() -> None:
    assert names([path for path in FILES if is_too_long(text(path))]) == []


def test_every_module_says_what_it_is_for() -> None:
    assert names([path for path in FILES if lacks_docstring(text(path))]) == []


def test_no_file_is_named_after_nothing() -> None:
    assert names([path for path in FILES if has_empty_name(path.relative_to(SOURCE))]) == []


def test_every_broad_except_says_why() -> None:
    found = {str(path.relative_to(PROJECT)): broad_excepts_without_reason(text(path)) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_an_optional_package_is_imported_by_one_file_only_and_one_of_the_service_by_its_doors_only() -> None:
    extras = METADATA["optional-dependencies"]
    optional = {distribution(one) for extra in extras.values() for one in extra} - {"lamina"}
    service = {distribution(one) for extra in ("proxy", "mcp", "server") for one in extras[extra]}
    users = {name: [path for path in FILES if name in imported_packages(text(path))] for name in sorted(optional)}
    strewn = {name: names(paths) for name, paths in users.items() if name not in service and len(paths) > 1}
    assert strewn == {}
    astray = {name: [path for path in users[name] if room(path) not in DOORS] for name in service & optional}
    assert {name: names(paths) for name, paths in astray.items() if paths} == {}


def test_every_imported_package_is_declared() -> None:
    extras = METADATA["optional-dependencies"]
    declared = {distribution(one) for group in [METADATA["dependencies"], *extras.values()] for one in group}
    providers = packages_distributions()
    used = set().union(*(imported_packages(text(path)) for path in FILES if "testing" not in path.parts))
    undeclared = {
        name
        for name in used - set(sys.stdlib_module_names) - {"lamina"}
        if not declared & {distribution(one) for one in providers.get(name, [])}
    }
    assert undeclared == set()


def test_importing_lamina_loads_nothing_heavy_and_does_nothing() -> None:
    result = imports_of("lamina")
    assert HEAVY & set(result["loaded"]) == set()
    assert result["effects"] == []


def test_importing_any_module_does_nothing() -> None:
    modules = [
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in FILES
        if path.stem != "__main__" and "migrations" not in path.parts
    ]
    assert imports_of(*modules)["effects"] == []


def test_no_test_skips_expects_failure_or_sleeps() -> None:
    found = {path.name: evasions(text(path)) for path in sorted((PROJECT / "tests").rglob("*.py"))}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_the_lock_names_packages_and_hashes_and_no_place() -> None:
    assert foreign_lock_lines(LOCK) == []
    assert unpinned_lock_entries(LOCK) == []


def test_the_lock_has_every_declared_package() -> None:
    groups = tomllib.loads(text(PROJECT / "pyproject.toml"))["dependency-groups"]
    lists = [METADATA["dependencies"], *METADATA["optional-dependencies"].values(), *groups.values()]
    declared = {distribution(one) for group in lists for one in group} - {"lamina"}
    locked = {distribution(line) for line in LOCK.splitlines() if re.match(r"\w", line)}
    assert declared - locked == set()


# Each rule can fail.


def test_a_file_of_the_longest_size_passes_and_one_line_more_does_not() -> None:
    assert not is_too_long("x\n" * LONGEST_FILE)
    assert is_too_long("x\n" * (LONGEST_FILE + 1))


def test_a_module_without_docstring_is_found_and_an_empty_one_is_not() -> None:
    assert lacks_docstring("import os\n")
    assert not lacks_docstring('"""What it is."""\n')
    assert not lacks_docstring("\n")


@pytest.mark.parametrize("path", ["utils.py", "memory/text_helpers.py", "base.py", "common/x.py", "store_v2.py"])
def test_an_empty_name_is_found(path: str) -> None:
    assert has_empty_name(PurePath(path))


@pytest.mark.parametrize("path", ["memory/service.py", "index/common_words.py", "database/types.py"])
def test_a_telling_name_is_not(path: str) -> None:
    assert not has_empty_name(PurePath(path))


@pytest.mark.parametrize("caught", ["", " Exception", " BaseException as e", " (ValueError, Exception)"])
def test_a_broad_except_needs_a_reason(caught: str) -> None:
    assert broad_excepts_without_reason(f"try:\n    f()\nexcept{caught}:\n    pass\n") == [3]
    assert broad_excepts_without_reason(f"try:\n    f()\nexcept{caught}:  # because\n    pass\n") == [3]
    assert broad_excepts_without_reason(f"try:\n    f()\nexcept{caught}:  # isolation: one of many\n    pass\n") == []


def test_a_narrow_except_needs_none() -> None:
    assert broad_excepts_without_reason("try:\n    f()\nexcept (OSError, ValueError):\n    pass\n") == []


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import a.b\ndef f():\n    from c.d import e\n    import_module('g.h')\nfrom . import i\n"
    assert imported_packages(source) == {"a", "c", "g"}


@pytest.mark.parametrize(
    "line",
    ["pytest.skip('x')", "@pytest.mark.xfail\ndef test(): ...", "pytest.importorskip('x')", "time.sleep(1)"],
)
def test_an_evasion_is_found(line: str) -> None:
    assert evasions(f"{line}\n") == [1]


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org",
        "-f wheels",
        "--find-links wheels",
        "#    uv -o /home/x",
        "a @ file:b",
    ],
)
def test_a_lock_line_that_names_a_place_is_found(line: str) -> None:
    assert foreign_lock_lines(f"a==1 \\\n    --hash=sha256:{'0' * 64}\n    # via b\n{line}\n") == [line]


def test_a_lock_entry_without_hash_or_version_is_found() -> None:
    good = f"a==1 ; sys_platform == 'win32' \\\n    --hash=sha256:{'0' * 64}\n    # via b\n"
    assert unpinned_lock_entries(f"{good}b==2\nc>=1 --hash=sha256:{'0' * 64}\n") == ["b==2", "c>=1"]


@pytest.mark.parametrize(
    "line", ["import os; os.environ.get('HOME')", "import os; os.getenv('X')", "open(__file__).close()"]
)
def test_an_effect_of_an_import_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "lamina").mkdir()
    (tmp_path / "lamina" / "__init__.py").write_text(f"{line}\n")
    assert len(imports_of("lamina", folder=tmp_path)["effects"]) == 1
