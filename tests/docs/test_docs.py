"""Every example in the README and the docs runs as it is written."""

import shlex
from pathlib import Path

import pytest

from tests.cli.terminal import Answer, Terminal
from tests.docs.blocks import ROOT, Page, commands, pages, read_page, run_python

PAGES = {page.path.relative_to(ROOT).as_posix(): page for page in pages()}


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page.python])
def test_the_python_examples_of_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if PAGES[name].toml:
        (tmp_path / "lamina.toml").write_text(PAGES[name].toml, encoding="utf-8")
    run_python(PAGES[name])


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page.console])
def test_the_commands_of_a_page_run(name: str, tmp_path: Path, terminal: Terminal) -> None:
    if PAGES[name].toml:
        (tmp_path / "lamina.toml").write_text(PAGES[name].toml, encoding="utf-8")
    for line, command in commands(PAGES[name]):
        finished = _run(command, terminal)
        assert finished.status == 0, f"{name}, line {line}: {command}\n{finished.out}{finished.err}"


def _run(command: str, terminal: Terminal) -> Answer:
    words = shlex.split(command)
    assert words[0] in ("lamina", "make", "git", "pip"), f"an example starts a program nobody checks: {command}"
    if words[0] != "lamina":  # setting up a machine is what the test command itself does
        return Answer(status=0, out="", err="")
    return terminal.run(*words[1:], input="")


def test_a_wrong_example_fails(tmp_path: Path, terminal: Terminal) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nassert 1 == 2\n```\n")
    with pytest.raises(AssertionError):
        run_python(read_page(page))
    page.write_text("```console\n$ lamina no-such-command\n```\n")
    ((_, command),) = commands(read_page(page))
    assert _run(command, terminal).status != 0


def test_an_example_that_hides_from_the_tests_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python notest\nassert 1 == 2\n```\n")
    with pytest.raises(ValueError, match="unknown mark"):
        read_page(page)


def test_the_settings_of_a_page_are_its_toml_examples(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("```toml\n[memory]\nthreshold = 0.5\n```\n```console\n$ lamina list --user u1\n```\n")
    assert read_page(path).toml == "[memory]\nthreshold = 0.5\n"


def test_examples_share_names_and_may_await(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "```python\nimport asyncio\nx = 1\n```\ntext\n```python\nawait asyncio.sleep(0)\nprint(x + 1)\n```\n"
    )
    page: Page = read_page(path)
    assert run_python(page) == "2\n"
