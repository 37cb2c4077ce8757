"""Log lines for people and for machines."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from lamina.observability.logging import configure_logging


@pytest.fixture(autouse=True)
def restored_logger() -> Iterator[None]:
    """The `lamina` logger as it was before the test."""
    logger = logging.getLogger("lamina")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate


def test_text_lines_carry_level_logger_and_message() -> None:
    stream = io.StringIO()
    configure_logging("info", stream=stream)
    logging.getLogger("lamina.index").info("loaded %d", 3)
    logging.getLogger("lamina.index").debug("hidden")
    assert stream.getvalue().endswith("INFO    lamina.index: loaded 3\n")
    assert stream.getvalue().count("\n") == 1


def test_json_lines_are_one_object_each_with_extras_and_traceback() -> None:
    stream = io.StringIO()
    configure_logging("warning", "json", stream=stream)
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        logging.getLogger("lamina.memory").exception("failed\n%s", "twice", extra={"layer": "user", "odd": {1}})
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert entry["level"] == "error"
    assert entry["logger"] == "lamina.memory"
    assert entry["message"] == "failed\ntwice"
    assert (entry["layer"], entry["odd"]) == ("user", "{1}")
    assert "ValueError: first" in entry["exception"]
    assert entry["time"].endswith("+00:00")


def test_an_extra_cannot_replace_what_a_line_always_says() -> None:
    stream = io.StringIO()
    configure_logging("warning", "json", stream=stream)
    logging.getLogger("lamina").warning("real", extra={"level": "forged", "time": "never"})
    assert json.loads(stream.getvalue())["level"] == "warning"


def test_configuring_again_replaces_the_output_and_keeps_foreign_handlers() -> None:
    first, second, foreign = io.StringIO(), io.StringIO(), logging.StreamHandler(io.StringIO())
    logging.getLogger("lamina").addHandler(foreign)
    configure_logging(stream=first)
    configure_logging(stream=second)
    logging.getLogger("lamina").warning("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1
    assert foreign in logging.getLogger("lamina").handlers


def test_the_root_logger_is_left_alone() -> None:
    before = list(logging.getLogger().handlers)
    configure_logging(stream=io.StringIO())
    assert logging.getLogger().handlers == before


def test_what_others_say_begins_no_line_and_drives_no_terminal() -> None:
    stream = io.StringIO()
    configure_logging("info", stream=stream)
    said = "x\n2026-01-01 00:00:00,000 INFO    lamina.server: forged\r\x1b[2J\x9b1m\u202e\u2028"
    logging.getLogger("lamina.server").info("GET %s", said)
    assert stream.getvalue().count("\n") == 1
    assert "GET x\\n2026" in stream.getvalue()
    assert stream.getvalue().rstrip("\n").isprintable()
    try:
        raise ValueError("\x1b[31mred\u202e")
    except ValueError:
        logging.getLogger("lamina.server").exception("failed")
    assert "\\x1b[31mred\\u202e\n" in stream.getvalue()
    assert "Traceback (most recent call last):\n" in stream.getvalue()
