"""Where a room is switched off, a command that finds nothing says so, beside the result."""

import pytest

from tests.cli.terminal import Terminal

READS = [
    (("knowledge", "list"), "knowledge"),
    (("knowledge", "search", "deploy"), "knowledge"),
    (("reference", "list"), "knowledge"),
    (("reference", "search", "deploy"), "knowledge"),
    (("learning", "list"), "knowledge"),
    (("learning", "search", "deploy"), "knowledge"),
    (("skill", "list"), "knowledge"),
    (("skill", "search", "deploy"), "knowledge"),
    (("graph", "show", "Ann"), "graph"),
    (("graph", "neighbours", "Ann"), "graph"),
]


@pytest.mark.parametrize(("words", "section"), READS)
def test_nothing_found_in_a_room_that_is_off_is_explained(
    terminal: Terminal, words: tuple[str, ...], section: str
) -> None:
    terminal.ok("add", "a memory", "--user", "u1")
    assert f"{section}.enabled = true" in terminal.ok(*words).err
    assert ".enabled" not in terminal.ok(*words, "--json").err
    on = {"LAMINA_KNOWLEDGE__ENABLED": "true", "LAMINA_GRAPH__ENABLED": "true"}
    assert ".enabled" not in terminal.run(*words, environ=on).err
