"""The Runtime Context layer: every request reads its own session."""

import threading

import pytest

from lamina.context.runtime import RuntimeContext, RuntimeContextAdapter, runtime_item
from lamina.kernel.session_key import using_session


@pytest.mark.requirement("context.runtime.get")
def test_the_runtime_context_carries_six_facts() -> None:
    adapter = RuntimeContextAdapter(
        active_tool_count=7, encryption_enabled=True, knowledge_enabled=True, memory_enabled=True
    )
    adapter.set_session("discord:1:2")
    assert adapter.get_runtime_context() == RuntimeContext(
        session_key="discord:1:2",
        channel_type="discord",
        active_tool_count=7,
        encryption_enabled=True,
        knowledge_enabled=True,
        memory_enabled=True,
    )


@pytest.mark.requirement("context.runtime.default-channel")
def test_the_channel_is_direct_until_a_session_is_set() -> None:
    state = RuntimeContextAdapter().get_runtime_context()
    assert (state.session_key, state.channel_type) == (None, "direct")


@pytest.mark.requirement("context.runtime.channel-from-key")
@pytest.mark.parametrize(
    ("key", "channel"),
    [
        ("telegram:42:7", "telegram"),
        ("discord:1:2", "discord"),
        ("slack:a:b", "slack"),
        ("slack:", "slack"),
        ("telegram", "direct"),
        ("Telegram:1", "direct"),
        ("email:1:2", "direct"),
        (":1", "direct"),
        ("", "direct"),
    ],
)
def test_the_channel_comes_from_the_key(key: str, channel: str) -> None:
    adapter = RuntimeContextAdapter()
    adapter.set_session(key)
    assert adapter.get_runtime_context().channel_type == channel


def test_the_request_s_own_session_wins_over_the_shared_one() -> None:
    adapter = RuntimeContextAdapter()
    adapter.set_session("telegram:other")
    with using_session("slack:mine"):
        assert adapter.get_runtime_context().session_key == "slack:mine"
    with using_session(None):
        assert adapter.get_runtime_context().session_key is None
    assert adapter.get_runtime_context().session_key == "telegram:other"


@pytest.mark.requirement("context.runtime.thread-safe")
def test_threads_that_set_and_read_at_once_never_see_half_a_session() -> None:
    adapter = RuntimeContextAdapter()
    adapter.set_session("telegram:start")
    channels = ("telegram", "discord", "slack")
    wrong: list[RuntimeContext] = []
    go = threading.Barrier(6)

    def write(channel: str) -> None:
        go.wait()
        for number in range(2000):
            adapter.set_session(f"{channel}:{number}")

    def read() -> None:
        go.wait()
        for _ in range(2000):
            state = adapter.get_runtime_context()
            if (state.session_key or "").partition(":")[0] != state.channel_type:
                wrong.append(state)

    threads = [threading.Thread(target=write, args=(channel,)) for channel in channels]
    threads += [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_more_tools_change_nothing_else() -> None:
    adapter = RuntimeContextAdapter(knowledge_enabled=True).with_tools(4)
    state = adapter.get_runtime_context()
    assert (state.active_tool_count, state.knowledge_enabled) == (4, True)


def test_the_same_state_is_the_same_text() -> None:
    assert runtime_item(RuntimeContext()) == runtime_item(RuntimeContext())
    assert runtime_item(RuntimeContext()).content.startswith("Session: none | Channel: direct | ")
