"""What changed between two texts."""

from hypothesis import given
from hypothesis import strategies as st

from lamina.page.difference import difference

TEXTS = st.text(alphabet="ab ,.\nü", max_size=60)


def test_changed_words_stand_between_those_that_stayed() -> None:
    found = [(piece.change, piece.text) for piece in difference("Lives in Berlin now", "Lives in Lisbon now")]
    assert found == [("same", "Lives in "), ("removed", "Berlin"), ("added", "Lisbon"), ("same", " now")]


def test_equal_texts_are_one_piece_and_empty_ones_none() -> None:
    assert [piece.change for piece in difference("as it was", "as it was")] == ["same"]
    assert difference("", "") == ()


@given(TEXTS, TEXTS)
def test_the_pieces_make_up_both_texts(old: str, new: str) -> None:
    pieces = difference(old, new)
    assert "".join(piece.text for piece in pieces if piece.change != "added") == old
    assert "".join(piece.text for piece in pieces if piece.change != "removed") == new


def test_long_texts_are_compared_by_lines() -> None:
    old = "\n".join(f"line {number} of many words" for number in range(1000))
    changed = [piece for piece in difference(old, old.replace("line 500", "row 500")) if piece.change != "same"]
    assert [piece.text for piece in changed] == ["line 500 of many words\n", "row 500 of many words\n"]
