"""Who a memory is said to come from."""

from datetime import UTC, datetime

import pytest

from lamina.context.sources import memory_origin
from lamina.context.types import Origin
from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer, Source


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        (None, Origin.AGENT),
        (Source(kind="manual"), Origin.USER),
        (Source(kind="conversation", author="User"), Origin.USER),
        (Source(kind="conversation", author="Ana"), Origin.AGENT),
        (Source(kind="conversation"), Origin.AGENT),
        (Source(kind="tool_result"), Origin.TOOL),
        (Source(kind="import"), Origin.IMPORT),
        (Source(kind="knowledge_sync"), Origin.IMPORT),
    ],
)
def test_only_what_a_person_said_is_trusted_as_the_users(source: Source | None, origin: Origin) -> None:
    moment = datetime(2025, 1, 1, tzinfo=UTC)
    entry = MemoryEntry(
        id="1",
        content="Deploys from the terminal",
        layer=MemoryLayer.USER,
        identifiers=Identifiers(user_id="u1"),
        source=source,
        created_at=moment,
        updated_at=moment,
    )
    assert memory_origin(entry) is origin
