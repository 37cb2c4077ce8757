"""The laws of the token estimate, and figures to hold it to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.kernel.tokens import TokenCounter, estimate_tokens

ANY_TEXT = st.text(st.characters())


def test_the_estimate_is_a_token_counter() -> None:
    counter: TokenCounter = estimate_tokens
    assert counter("") == 0


@given(ANY_TEXT)
def test_only_an_empty_text_takes_no_token(text: str) -> None:
    assert (estimate_tokens(text) == 0) == (text == "")


@given(ANY_TEXT)
def test_a_character_never_takes_more_tokens_than_four(text: str) -> None:
    assert estimate_tokens(text) <= 4 * len(text)


@given(ANY_TEXT, ANY_TEXT)
def test_joining_texts_changes_the_sum_by_a_few_tokens_at_most(first: str, second: str) -> None:
    apart = estimate_tokens(first) + estimate_tokens(second)
    assert abs(estimate_tokens(first + second) - apart) <= 3


@given(ANY_TEXT, st.integers(1, 20))
def test_repeating_a_text_repeats_its_tokens(text: str, times: int) -> None:
    assert abs(estimate_tokens(text * times) - times * estimate_tokens(text)) <= 3 * times


@pytest.mark.parametrize(
    ("text", "cl100k"),
    [
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("git commit --amend --no-edit && git push --force-with-lease", 16),
        ("def add(first: int, second: int) -> int:\n    return first + second\n", 19),
        ("Die Katze sitzt auf dem Dach und beobachtet die Vögel.", 19),
        ("我喜欢在早上喝咖啡,然后去公园散步。", 27),
        ("私は毎朝コーヒーを飲みます。", 16),
        ("Съешь же ещё этих мягких французских булок", 28),
        ("😀😀😀", 6),
    ],
)
def test_the_estimate_is_near_a_real_tokenizer(text: str, cl100k: int) -> None:
    assert 0.6 * cl100k <= estimate_tokens(text) <= 1.6 * cl100k


def test_control_characters_and_blank_text_count() -> None:
    assert estimate_tokens("\x00" * 50) == 50
    assert estimate_tokens(" ") == 1
    assert estimate_tokens("\u3000" * 50) == 50
