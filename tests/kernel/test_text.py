"""Texts that can be stored, compared and shown."""

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.kernel.text import content_hash, mask_secrets, normalise, unstorable

ANY_TEXT = st.text(st.characters())


@given(ANY_TEXT)
def test_a_text_is_storable_exactly_when_it_encodes_and_has_no_nul(text: str) -> None:
    try:
        text.encode()
        storable = "\x00" not in text
    except UnicodeEncodeError:
        storable = False
    assert (unstorable(text) is None) == storable


def test_the_reason_names_what_is_wrong() -> None:
    assert unstorable("a\x00b") == "contains a NUL character"
    assert unstorable("a\ud800b") == "contains a lone surrogate"
    assert unstorable("😀 שלום") is None


def test_the_hash_is_sha256_of_utf8() -> None:
    assert content_hash("naïve") == hashlib.sha256("naïve".encode()).digest()


@given(ANY_TEXT)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text())
def test_composed_and_decomposed_spellings_are_the_same(text: str) -> None:
    assert normalise(unicodedata.normalize("NFD", text)) == normalise(unicodedata.normalize("NFC", text))


def test_case_width_and_white_space_do_not_matter() -> None:
    assert normalise("  Ｈｅｌｌｏ\t\n Straße ") == "hello strasse"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:s3cret@host/db", "postgresql://u:***@host/db"),
        ("postgresql+psycopg://u:p@ss/w:rd@host/db", "postgresql+psycopg://u:***@host/db"),
        ("postgresql://host/db?user=u&password=s3cret&x=1", "postgresql://host/db?user=u&password=***&x=1"),
        ("https://host/v1?api_key=s3cret", "https://host/v1?api_key=***"),
        ("postgresql://u@host/db", "postgresql://u@host/db"),
        ("folder/lamina.db", "folder/lamina.db"),
    ],
)
def test_secrets_in_addresses_are_masked(text: str, shown: str) -> None:
    assert mask_secrets(text) == shown
