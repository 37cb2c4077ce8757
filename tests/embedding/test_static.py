"""The default embedder: offline, quick to load, safe with any text."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.embedding import static
from lamina.embedding.adoption import fit
from lamina.embedding.static import MAX_CHARACTERS, StaticEmbedder
from lamina.embedding.types import Embedder, Purpose

PURPOSES: tuple[Purpose, ...] = ("query", "document")
MODEL = StaticEmbedder()


def cosine(first: str, second: str) -> float:
    rows = MODEL.encode([first, second])
    return float(rows[0] @ rows[1])


@pytest.mark.anyio
async def test_it_is_an_embedder() -> None:
    embedder: Embedder = StaticEmbedder()
    rows = await embedder.embed(["I adopted a dog"], purpose="document")
    assert rows.shape == (1, embedder.dimensions)
    assert rows.dtype == np.float32
    assert embedder.name.startswith("static:")
    await embedder.aclose()


def test_every_row_has_length_one() -> None:
    rows = MODEL.encode(["dark mode", "She moved to Oslo in May.", "naïve café"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)


def test_texts_of_one_meaning_are_nearer_than_texts_of_two() -> None:
    near = cosine("my dog is ill", "the puppy is sick")
    assert near > cosine("my dog is ill", "the train to Paris is late")


def test_a_question_finds_the_memory_that_answers_it() -> None:
    memories = [
        "Anna: I started learning the violin last spring",
        "Ben: we ate pizza near the harbour",
        "Anna: the car needs new tyres",
    ]
    question = MODEL.encode(["Which musical instrument does Anna play?"])[0]
    assert int(np.argmax(MODEL.encode(memories) @ question)) == 0


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\x00", "\ud800", "\u200b"])
def test_a_text_without_known_tokens_is_a_zero_row(text: str) -> None:
    assert not MODEL.encode([text]).any()


@given(st.text(st.characters(max_codepoint=127)) | st.text())
def test_words_that_are_remembered_are_the_tokens_of_the_text(text: str) -> None:
    whole = MODEL._tokenizer.encode(text.encode("utf-8", "ignore").decode(), add_special_tokens=False).ids
    assert MODEL._token_ids([text, text]) == [whole, whole]


def test_words_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "_MOST_WORDS", 4)
    embedder = StaticEmbedder()
    for text in ("one two three", "two three", "three four", "five six seven", "one seven"):
        assert embedder.encode([text]).tolist() == MODEL.encode([text]).tolist()
        assert len(embedder._words) <= 4


def test_no_texts_give_no_rows() -> None:
    assert MODEL.encode([]).shape == (0, MODEL.dimensions)


def test_empty_texts_among_others_do_not_disturb_their_neighbours() -> None:
    texts = ["", "tea", "", "", "a long walk by the sea", ""]
    rows = MODEL.encode(texts)
    assert [bool(row.any()) for row in rows] == [False, True, False, False, True, False]
    assert rows[4] == pytest.approx(MODEL.encode(["a long walk by the sea"])[0], abs=1e-6)


def test_a_text_has_the_same_vector_alone_and_in_a_large_batch() -> None:
    texts = [f"note {number} about the garden" for number in range(1_300)]
    rows = MODEL.encode(texts)
    for position in (0, 7, 511, 512, 1_299):
        assert rows[position] == pytest.approx(MODEL.encode([texts[position]])[0], abs=1e-6)


def test_a_very_long_text_is_read_up_to_the_limit() -> None:
    long = "garden " * 1_500_000
    assert np.array_equal(MODEL.encode([long]), MODEL.encode([long[:MAX_CHARACTERS]]))


def test_one_endless_word_is_safe() -> None:
    assert MODEL.encode(["x" * 2_000_000]).shape == (1, MODEL.dimensions)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=()), max_size=40), max_size=12))
def test_any_text_gives_a_unit_row_or_a_zero_row(texts: list[str]) -> None:
    rows = MODEL.encode(texts)
    norms = np.linalg.norm(rows, axis=1)
    assert np.isfinite(rows).all()
    assert np.all((norms == 0) | (np.abs(norms - 1) < 1e-4))


@pytest.mark.anyio
@pytest.mark.parametrize("count", [1, 8, 9, 600])
@pytest.mark.parametrize("purpose", PURPOSES)
async def test_embedding_from_the_event_loop_equals_encoding(count: int, purpose: Purpose) -> None:
    texts = [f"memory {number}: likes jazz" for number in range(count)]
    assert np.array_equal(await MODEL.embed(texts, purpose=purpose), MODEL.encode(texts))


def test_two_embedders_agree() -> None:
    assert StaticEmbedder().name == MODEL.name
    assert np.array_equal(StaticEmbedder().encode(["green tea"]), MODEL.encode(["green tea"]))


def test_files_of_different_models_are_refused(tmp_path: Path) -> None:
    data = Path(inspect.getfile(StaticEmbedder)).parent / "data"
    for name in ("model.json", "tokenizer.json", "scales.npy"):
        (tmp_path / name).write_bytes((data / name).read_bytes())
    np.save(tmp_path / "vectors.npy", np.zeros((3, 4), dtype=np.int8))
    with pytest.raises(ValueError, match="do not belong to one model"):
        StaticEmbedder(tmp_path)


@pytest.mark.anyio
async def test_the_shipped_calibration_is_what_a_fit_gives() -> None:
    shipped, fitted = MODEL.calibration, await fit(MODEL)
    assert shipped is not None
    assert shipped.embedder == fitted.embedder == MODEL.name
    # A processor of another make may add up in another order.
    assert (shipped.unrelated, shipped.related) == pytest.approx((fitted.unrelated, fitted.related), abs=2e-4)
    question = MODEL.encode(["Where did she move to?"])[0]
    aimed, level = shipped.aim(question)
    expected, expected_level = fitted.aim(question)
    assert aimed.tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    assert level == pytest.approx(expected_level, abs=1e-4)


def test_a_calibration_of_another_model_is_refused(tmp_path: Path) -> None:
    data = Path(inspect.getfile(StaticEmbedder)).parent / "data"
    for name in ("tokenizer.json", "vectors.npy", "scales.npy"):
        (tmp_path / name).write_bytes((data / name).read_bytes())
    (tmp_path / "model.json").write_text('{"name": "static:other"}')
    assert StaticEmbedder(tmp_path).calibration is None
    (tmp_path / "calibration.json").write_bytes((data / "calibration.json").read_bytes())
    with pytest.raises(ValueError, match="calibration"):
        StaticEmbedder(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.json"):
        StaticEmbedder(tmp_path)


def test_the_shipped_files_stay_small() -> None:
    data = Path(inspect.getfile(StaticEmbedder)).parent / "data"
    assert sum(file.stat().st_size for file in data.iterdir()) <= 8_000_000
