"""What the tests of the command line share."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.embedding.server import EmbeddingsServer, running


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal in an empty folder, without settings of whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LAMINA_")]:
        monkeypatch.delenv(name)
    logger = logging.getLogger("lamina")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield Terminal()
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    """An endpoint that embeds."""
    with running(EmbeddingsServer()) as started:
        yield started
