"""The session of a request, carried by a context variable."""

import asyncio

import pytest

from lamina.kernel.session_key import current_session_key, enter_session, using_session


def test_nothing_is_bound_at_first() -> None:
    assert current_session_key() is None
    assert current_session_key("otherwise") == "otherwise"


def test_blocks_nest_and_undo_themselves() -> None:
    with using_session("a"):
        with using_session(None):
            assert current_session_key("otherwise") is None
        assert current_session_key() == "a"
    assert current_session_key("otherwise") == "otherwise"


def test_a_session_can_be_entered_without_a_block_and_left_again() -> None:
    with using_session("a"):
        leave = enter_session("b")
        assert current_session_key() == "b"
        leave()
        assert current_session_key() == "a"
    leave_nothing = enter_session("c")
    leave_nothing()
    assert current_session_key("otherwise") == "otherwise"


def test_a_block_that_fails_undoes_itself() -> None:
    with pytest.raises(KeyError), using_session("a"):
        raise KeyError
    assert current_session_key() is None


@pytest.mark.anyio
async def test_tasks_inherit_their_own_session() -> None:
    async def read() -> str | None:
        await asyncio.sleep(0)
        return current_session_key()

    async def request(key: str) -> list[str | None]:
        with using_session(key):
            return await asyncio.gather(*(asyncio.ensure_future(read()) for _ in range(3)))

    assert list(await asyncio.gather(request("a"), request("b"))) == [["a"] * 3, ["b"] * 3]
    assert await read() is None
