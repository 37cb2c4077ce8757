import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.index.terms import analyse, name_key, pack, unpack, unpack_many, words


@given(st.text())
def test_any_text_survives_packing(text: str) -> None:
    terms = analyse(text)
    again = unpack(pack(terms))
    assert again.hashes.tolist() == terms.hashes.tolist() == sorted(set(terms.hashes.tolist()))
    assert again.counts.tolist() == terms.counts.tolist()
    assert again.length == terms.length


@given(st.lists(st.text()))
def test_many_blobs_are_read_like_single_ones(texts: list[str]) -> None:
    batch = unpack_many([pack(analyse(text)) for text in texts])
    for row, text in enumerate(texts):
        mine = batch.rows == row
        assert batch.hashes[mine].tolist() == analyse(text).hashes.tolist()
        assert batch.lengths[row] == analyse(text).length


@pytest.mark.parametrize("blob", [b"", b"abc", b"\x01\x00\x00\x00\x63"])
def test_foreign_blobs_are_refused(blob: bytes) -> None:
    with pytest.raises(ValueError, match="packed terms"):
        unpack(blob)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Prefers dark-mode", ["prefers", "dark", "mode"]),
        ("C++ and C# code in .env", ["c++", "and", "c#", "code", "in", ".env"]),
        ("Melanie's dog isn't here.", ["melanie", "dog", "isn't", "here"]),
        ("東京タワーへ", ["東京", "京タ", "タワ", "ワー", "ーへ"]),
        ("Ærøskøbing Café", ["ærøskøbing", "cafe"]),
        ("שָׁלוֹם עולם", ["שלום", "עולם"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("مُحَمَّد يحب القهوة", ["محمد", "يحب", "القهوة"]),
        ("end. Next", ["end", "next"]),
        ("price 3.50", ["price", "3", "50"]),
    ],
)
def test_words_are_split_in_every_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_forms_of_a_word_are_one_term() -> None:
    assert analyse("hiking hikes hiked").hashes.tolist() == analyse("hike").hashes.tolist()
    assert analyse("hiking hikes hiked").counts.tolist() == [3]


def test_irregular_forms_and_spellings_are_one_term() -> None:
    assert analyse("bought buys").hashes.tolist() == analyse("buy").hashes.tolist()
    assert analyse("went").hashes.tolist() == analyse("goes").hashes.tolist()
    assert analyse("favorite colors").hashes.tolist() == analyse("favourite colour").hashes.tolist()


def test_names_are_compared_without_case_accents_and_outer_space() -> None:
    assert name_key(" José  García") == name_key("jose garcia")
    assert name_key("Ana") != name_key("Ben")
    assert 0 < name_key("") < 2**63
