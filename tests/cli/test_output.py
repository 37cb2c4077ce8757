"""How text and errors are shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import errors
from lamina.cli.output import NEXT_STEPS, as_json, next_step, one_line, plain
from lamina.cli.sizes import bytes_text, count_text
from lamina.errors import ConfigurationError, LaminaError, ProviderError


def kinds(kind: type[LaminaError] = LaminaError) -> set[str]:
    return {kind.code}.union(*(kinds(each) for each in kind.__subclasses__()))


def test_every_error_of_the_house_has_a_next_step() -> None:
    assert {each.code for each in vars(errors).values() if isinstance(each, type) and issubclass(each, LaminaError)} - {
        "INTERNAL_ERROR"
    } == set(NEXT_STEPS)
    assert set(NEXT_STEPS) <= kinds()


def test_the_error_itself_knows_best_what_to_do() -> None:
    assert next_step(ConfigurationError("x", details={"next": "Do this."})) == "Do this."
    assert "Free some space" in next_step(ProviderError("x", details={"reason": "disk_full"}))
    assert next_step(ProviderError("x", details={"reason": "unheard of"})) == NEXT_STEPS["PROVIDER_ERROR"]
    assert "doctor" in next_step(LaminaError("x"))


@given(text=st.text())
def test_no_text_can_drive_a_terminal(text: str) -> None:
    shown = plain(text).plain
    assert not any(ord(letter) < 32 and letter not in "\n\t" for letter in shown)
    assert not any(0x7F <= ord(letter) < 0xA0 for letter in shown)
    assert "\n" not in one_line(text).plain


@given(text=st.text() | st.text(st.sampled_from("\x7f\x9b\x85\u202e\u2069é✓")))
def test_no_document_can_drive_a_terminal_and_each_reads_back_the_same(text: str) -> None:
    written = as_json({text: [text]}, narrow=False)
    assert not any(0x7F <= ord(letter) < 0xA0 or letter in "\u202e\u2069" for letter in written)
    assert json.loads(written) == {text: [text]}


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (106_496, "106.5 kB"),
        (3_400_000, "3.4 MB"),
        (5 * 10**12, "5.0 TB"),
    ],
)
def test_sizes_have_units(size: int, text: str) -> None:
    assert bytes_text(size) == text


def test_counts_agree_with_their_noun() -> None:
    assert [count_text(number, "memory", "memories") for number in (0, 1, 2)] == [
        "0 memories",
        "1 memory",
        "2 memories",
    ]
    assert count_text(2, "mark") == "2 marks"
