"""Messages of the protocol as messages of a conversation, and when two are the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.proxy.incoming import latest_user_text, said_in
from lamina.session.checked import check_message
from lamina.session.settings import SessionSettings
from lamina.session.types import Attachment, Role, ToolCall, ToolResult

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id", "function"]), inner)
    ),
    max_leaves=8,
)
FIELDS = ["role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal"]
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "function"])},
    optional={name: JSON for name in FIELDS if name != "role"},
)


@given(st.lists(MESSAGES, max_size=4))
def test_whatever_is_sent_becomes_messages_that_a_store_takes(messages: list[dict[str, Any]]) -> None:
    for one in said_in(messages):
        check_message(one.message, SessionSettings())


def only(message: dict[str, Any]) -> Any:
    (said,) = said_in([message])
    return said.message


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return said_in([one])[0].digest == said_in([other])[0].digest


def call(arguments: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": arguments}}], **more}


def test_instructions_and_what_says_nothing_are_left_out() -> None:
    roles = ["system", "developer", "stranger"]
    assert said_in([*({"role": role, "content": "x"} for role in roles), {"role": "user", "content": " "}, {}]) == []


def test_places_are_those_of_what_was_sent() -> None:
    said = said_in(
        [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    )
    assert [one.place for one in said] == [1, 2]


def test_calls_of_every_age_are_calls() -> None:
    old = {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}
    custom = {"role": "assistant", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}]}
    assert only(old).parts == (ToolCall(id="f", name="f", arguments="{}"),)
    assert only(custom).parts == (ToolCall(id="c", name="f", arguments="x"),)


def test_results_belong_to_their_calls_even_when_they_are_empty() -> None:
    message = only({"role": "tool", "tool_call_id": "c", "content": ""})
    assert (message.role, message.parts) == (Role.TOOL, (ToolResult(call_id="c", content=""),))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "image_url", "image_url": {"url": "https://x.org/a?key=1"}}, ("image/*", "https://x.org/a", None)),
        ({"type": "input_image", "image_url": "data:image/gif;base64,AAAA"}, ("image/gif", "", 3)),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, ("audio/*", "", 3)),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
         ("application/pdf", "a.pdf", 3)),
        ({"type": "input_file", "file_id": "file-1"}, ("application/octet-stream", "file-1", None)),
    ],
)  # fmt: skip
def test_files_are_mentioned(part: dict[str, Any], expected: tuple[Any, ...]) -> None:
    (found,) = only({"role": "user", "content": [part]}).parts
    assert found == Attachment(media_type=expected[0], name=expected[1], size_bytes=expected[2])


def test_a_message_in_another_form_is_the_same() -> None:
    text = {"role": "assistant", "content": "It is  late.\n"}
    assert same(text, {"role": "assistant", "content": [{"type": "text", "text": "It is late."}], "refusal": None})
    assert same(text, {"role": "assistant", "content": "<think>Hm.</think>It is late."})
    assert same(call('{"a": 1, "b": 2}', content=None), call('{"b":2,"a":1}', content=""))


def test_a_message_that_says_something_else_is_another() -> None:
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}
    other = json.loads(json.dumps(picture).replace("AAAA", "AAAB"))
    assert not same(picture, other)
    assert not same({"role": "user", "content": "x"}, {"role": "assistant", "content": "x"})
    assert not same(call("{}"), call('{"a": 1}'))


def test_the_question_is_the_newest_text_of_the_user() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "text", "text": "two"}]
    messages: list[Any] = [
        {"role": "user", "content": parts},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": []},
    ]
    assert latest_user_text(messages) == "one\ntwo"
    assert latest_user_text([]) == ""
