"""A receipt as plain values and back."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.context.receipt import Receipt, ReceiptItem, ReceiptSection
from lamina.context.types import ContextLayer, LayerFailure, Origin, Place, Semantic
from tests.context.samples import PLACES, START

items = st.builds(
    ReceiptItem,
    layer=st.sampled_from(PLACES),
    key=st.text(max_size=5),
    score=st.floats(0, 1),
    signals=st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=3),
    tokens=st.integers(0, 100),
    origin=st.sampled_from([origin.value for origin in Origin]),
    trust=st.just("low"),
    suspicious=st.lists(st.text(max_size=3), max_size=2).map(tuple),
    cut_by=st.none() | st.just("share"),
)
BLANK = Receipt(
    id="1",
    at=START,
    session_key=None,
    query="q",
    keywords=("q",),
    budget_tokens=10,
    base_tokens=3,
    added_tokens=4,
    unchanged_tokens=2,
)


@given(st.lists(items, max_size=4).map(tuple), st.lists(items, max_size=4).map(tuple), st.sampled_from(PLACES))
def test_a_receipt_survives_json(injected: tuple[ReceiptItem, ...], cut: tuple[ReceiptItem, ...], place: Place) -> None:
    receipt = replace(
        BLANK,
        injected=injected,
        cut=cut,
        sections=(ReceiptSection(layer=place, name="x", tokens=1, allowed=2, items=1),),
        failures=(LayerFailure(layer=place, reason="failed", error="X"),),
    )
    assert Receipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt


def test_the_total_is_shown_and_not_read_back() -> None:
    plain = BLANK.to_dict()
    assert plain["total_tokens"] == 7
    assert Receipt.from_dict({**plain, "total_tokens": 99}).total_tokens == 7


@pytest.mark.parametrize("change", [{"at": "yesterday"}, {"injected": [{"layer": "nowhere"}]}, {"extra": 1}])
def test_what_is_no_receipt_is_refused(change: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Receipt.from_dict({**BLANK.to_dict(), **change})


def test_places_are_written_by_name() -> None:
    line = ReceiptItem(layer=Semantic.MEMORY, key="k", score=0.5, signals={}, tokens=1, origin="user", trust="high")
    assert replace(BLANK, injected=(line,)).to_dict()["injected"][0]["layer"] == "memory"
    assert ContextLayer.RUNTIME_CONTEXT.value == "runtime_context"
