"""Text from a store: as text, and nothing in it unseen."""

from hypothesis import given
from hypothesis import strategies as st

from lamina.page.text import LONGEST, one_line, visible


def test_what_cannot_be_seen_is_written_out() -> None:
    assert visible("a\u202eb\x00c\u200bd") == "a⟨U+202E⟩b⟨U+0000⟩c⟨U+200B⟩d"
    assert visible("tab\tand\r\nlines\n") == "tab\tand\nlines\n"
    assert visible("family 👨‍👩‍👧 of Zoë") == "family 👨‍👩‍👧 of Zoë"


def test_a_text_that_is_too_long_says_so() -> None:
    assert visible("x" * LONGEST) == "x" * LONGEST
    assert visible("x" * (LONGEST + 1500)).endswith("x\n… 1,500 more characters")


@given(st.text(max_size=400), st.integers(2, 200))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, longest: int) -> None:
    line = one_line(text, longest)
    assert len(line) <= longest
    assert line.splitlines() in ([], [line])
