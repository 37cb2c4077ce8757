"""What the tests of chat models share."""

from collections.abc import Iterator

import pytest

from tests.llm.scripted import ChatServer, running


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running(ChatServer()) as started:
        yield started
