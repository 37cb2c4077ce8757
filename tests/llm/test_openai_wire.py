"""Reading chat answers, without a network."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import ModelFailedError
from lamina.llm.openai_wire import read_answer, without_thoughts

KEYS = st.sampled_from(["choices", "message", "content", "usage", "type", "text", "finish_reason"])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=16,
)


@pytest.mark.parametrize(
    ("said", "text", "thinking"),
    [
        ("It is Ann.", "It is Ann.", False),
        ("<think>who?</think>It is Ann.", "It is Ann.", False),
        ("\n<think></think>\n\nIt is Ann.\n", "It is Ann.", False),
        ("<thinking>a</thinking> <think>b</think> It is Ann.", "It is Ann.", False),
        ("who might it be?\n</think>\nIt is Ann.", "It is Ann.", False),
        ("<think>who might it", "", True),
        ("<think>a</think>\n<think>b", "", True),
        ("Ann wrote <think>x</think> in her mail.", "Ann wrote <think>x</think> in her mail.", False),
        ("- Ann said `</think>` ends it.", "- Ann said `</think>` ends it.", False),
        ("", "", False),
    ],
)
def test_thoughts_before_an_answer_are_taken_off_and_nothing_else(said: str, text: str, thinking: bool) -> None:
    assert without_thoughts(said) == (text, thinking)


def test_an_answer_in_parts_is_joined_and_its_thoughts_are_not_part_of_it() -> None:
    parts = [{"type": "thinking", "text": "who?"}, {"type": "text", "text": "It is "}, {"type": "text", "text": "Ann."}]
    body = json.dumps({"choices": [{"message": {"content": parts}}]}).encode()
    assert read_answer(body).text == "It is Ann."


def test_an_answer_that_was_cut_off_while_thinking_is_not_finished() -> None:
    body = json.dumps({"choices": [{"message": {"content": "<think>who"}, "finish_reason": "stop"}]}).encode()
    answer = read_answer(body)
    assert (answer.text, answer.finished) == ("", False)


@given(JSON_VALUES)
def test_any_json_is_read_or_refused_and_nothing_else(value: object) -> None:
    for body in (
        value,
        {"choices": value},
        {"choices": [value]},
        {"choices": [{"message": {"content": value}, "finish_reason": value}]},
    ):
        try:
            answer = read_answer(json.dumps(body).encode())
        except ModelFailedError:
            continue
        assert isinstance(answer.text, str)


@given(st.binary())
def test_any_bytes_are_read_or_refused_and_nothing_else(body: bytes) -> None:
    with pytest.raises(ModelFailedError):
        read_answer(body)
