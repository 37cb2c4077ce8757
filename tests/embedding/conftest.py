"""What the tests of embedders share."""

from collections.abc import Iterator

import pytest

from tests.embedding.server import EmbeddingsServer
from tests.endpoint.loopback import running


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with running(EmbeddingsServer()) as started:
        yield started
