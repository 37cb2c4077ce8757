import base64
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.errors import InvalidCursorError
from lamina.memory.cursor import decode_cursor, encode_cursor, listing_fingerprint
from lamina.memory.filter import Filter, parse_filter
from lamina.memory.types import Identifiers, MemoryLayer, Scope

SCOPE = Scope(tenant="t", layer=MemoryLayer.USER, identifiers=Identifiers(user_id="u"))
LISTING = listing_fingerprint(SCOPE, Filter())


@given(st.integers(0, 2**63 - 1))
def test_a_cursor_gives_back_its_position(sequence: int) -> None:
    cursor = encode_cursor(sequence, LISTING)
    assert decode_cursor(cursor, LISTING) == sequence
    assert cursor.isascii()


@given(st.integers(0, 2**63 - 1), st.data())
def test_a_changed_cursor_is_refused(sequence: int, data: st.DataObject) -> None:
    cursor = encode_cursor(sequence, LISTING)
    at = data.draw(st.integers(0, len(cursor)))
    inserted = data.draw(st.sampled_from("Aa0-_=. \n"))
    removed = data.draw(st.integers(0, 2))
    changed = cursor[:at] + inserted + cursor[at + removed :]
    if changed != cursor:
        with pytest.raises(InvalidCursorError):
            decode_cursor(changed, LISTING)


@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode()) | st.integers() | st.none())
def test_anything_else_is_refused(cursor: object) -> None:
    with pytest.raises(InvalidCursorError) as refused:
        decode_cursor(cursor, LISTING, operation="list")
    assert refused.value.code == "INVALID_CURSOR"
    assert refused.value.operation == "list"


@pytest.mark.parametrize(
    "content", [{}, [], 1, None, {"v": 2, "s": 1, "c": "x"}, {"v": 1, "s": True, "c": "x"}, {"v": 1, "s": -1}]
)
def test_json_that_is_no_cursor_is_refused(content: object) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    with pytest.raises(InvalidCursorError):
        decode_cursor(cursor, LISTING)


def test_a_cursor_of_another_listing_is_refused() -> None:
    cursor = encode_cursor(5, LISTING)
    others = [
        listing_fingerprint(replace(SCOPE, tenant="t2"), Filter()),
        listing_fingerprint(replace(SCOPE, identifiers=Identifiers(user_id="v")), Filter()),
        listing_fingerprint(SCOPE, Filter(tags=("a",))),
        listing_fingerprint(SCOPE, parse_filter(tags=None, where={"a": 1})),
        listing_fingerprint(SCOPE, parse_filter(tags=None, where={"a": True})),
    ]
    assert len({LISTING, *others}) == 6
    for other in others:
        with pytest.raises(InvalidCursorError):
            decode_cursor(cursor, other)


def test_the_order_of_a_filter_does_not_change_the_listing() -> None:
    one = parse_filter(tags=["a", "b"], where={"x": 1, "y": {"gt": 1, "lt": 3}})
    other = parse_filter(tags=["b", "a"], where={"y": {"lt": 3, "gt": 1}, "x": 1})
    assert listing_fingerprint(SCOPE, one) == listing_fingerprint(SCOPE, other)
