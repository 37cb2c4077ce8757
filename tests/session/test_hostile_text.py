"""Text that breaks programs is stored exactly, in content and in parts, on both engines."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lamina.sync
from lamina.errors import InvalidInputError
from lamina.session.service import SessionService
from lamina.session.types import ToolCall, ToolResult
from lamina.sync import SyncApp
from tests.faults.test_hostile_text import NASTY

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
async def test_nasty_text_is_stored_exactly_and_can_be_asked_for(sessions: SessionService, text: str) -> None:
    parts = (ToolCall(id=text[:1000], name=text[:1000], arguments=text), ToolResult(call_id=text[:1000], content=text))
    key = "key " + "".join(character for character in text[:50] if character.isprintable())
    stored = await sessions.append(role="user", content=text, parts=parts, id=key, session_key=key, user_id=key)
    (read,) = await sessions.messages(key)
    assert read == stored
    assert (read.content, read.parts) == (text, parts)
    assert [hit.message for hit in await sessions.recall(text[:5_000], user_id=key, threshold=0)] == [stored]
    await sessions.compact_messages(key, up_to=0, summary=text)
    assert (await sessions.list(user_id=key)).total_count == 1
    await sessions.delete(key)


@pytest.fixture
def blocking_app(store_url: str) -> Iterator[SyncApp]:
    with lamina.sync.open(store_url) as app:
        yield app


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=200), printed=st.text(max_size=200))
def test_any_text_is_stored_exactly_or_refused(blocking_app: SyncApp, text: str, printed: str) -> None:
    sessions = blocking_app.sessions
    try:
        stored = sessions.append(
            role="user", content=text, parts=[ToolResult(call_id="c", content=printed)], session_key="s"
        )
    except InvalidInputError:
        assert "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text)
        return
    found = sessions.recall(session_key="s", first=stored.sequence, last=stored.sequence)
    assert [hit.message for hit in found] == [stored]
    assert stored.content == text
    expected = "".join("\ufffd" if one == "\x00" or "\ud800" <= one <= "\udfff" else one for one in printed)
    assert stored.results[0].content == expected
