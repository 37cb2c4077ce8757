"""A pytest plugin that writes down which collected test carries which requirement ids.

Used as `pytest --collect-only -p tests.requirement_marks --requirement-marks FILE`. Collecting sees what
reading the source does not: marks on classes and modules, and conformance suites only where they really run.
"""

import json
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--requirement-marks", type=Path, help="where to write test names and ids, as JSON")


def pytest_collection_finish(session: pytest.Session) -> None:
    target: Path = session.config.getoption("--requirement-marks")
    target.write_text(json.dumps(marks_of(session)), encoding="utf-8")


def marks_of(session: pytest.Session) -> dict[str, list[str]]:
    """The requirement ids of the tests that were collected, by test name; tests without any are left out."""
    marks = {
        item.nodeid: [str(id) for mark in item.iter_markers("requirement") for id in mark.args]
        for item in session.items
    }
    return {test: ids for test, ids in marks.items() if ids}
