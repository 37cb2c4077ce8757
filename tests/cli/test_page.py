"""The page about the command line mentions every command, and nothing that does not exist."""

import re

import pytest

from tests.cli.terminal import ROOT
from tests.cli.tree import COMMANDS

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
PATHS = {" ".join(path) for path in COMMANDS}


@pytest.mark.parametrize("path", sorted(PATHS))
def test_every_command_is_explained_and_shown(path: str) -> None:
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert f"`{path}`" in prose
    assert re.search(rf"^(\$ )?.*lamina {path}\b", PAGE, re.MULTILINE)


def test_every_command_line_of_the_page_names_a_command() -> None:
    lines = re.findall(r"^(?:\$ )?lamina ([a-z-]+)(?: ([a-z]+))?", PAGE, re.MULTILINE)
    assert len(lines) > 20
    assert {first for first, second in lines if first not in PATHS and f"{first} {second}" not in PATHS} == set()


def test_every_shared_option_is_explained() -> None:
    for option in ("--json", "--quiet", "--store", "--embedder", "--help"):
        assert f"`{option}`" in PAGE
