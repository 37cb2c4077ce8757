"""What the tests of the command line share."""

from collections.abc import Iterator

import pytest

from tests.embedding.server import EmbeddingsServer
from tests.endpoint.loopback import running


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    """An endpoint that embeds."""
    with running(EmbeddingsServer()) as started:
        yield started
