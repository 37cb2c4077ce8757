import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lamina.index.calibration import Calibration, calibration_texts, evidence_of, fit_calibration, relevance


def test_a_calibration_survives_json() -> None:
    calibration = Calibration(
        embedder="model", unrelated=0.3, related=0.8, question_centre="ADwAAA==", memory_centre="AAAAPA=="
    )
    assert Calibration.from_json(calibration.to_json()) == calibration


@pytest.mark.parametrize("text", ["[]", "{}", '{"embedder": "x", "unrelated": 0.1, "related": 0.7}', "nonsense"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Calibration.from_json(text)


def test_the_sample_has_as_many_questions_as_memories_and_repeats_nothing() -> None:
    memories, questions = calibration_texts()
    assert len(memories) == len(questions) == 100
    assert len({*memories, *questions}) == 200


def test_the_fit_follows_the_spread_of_unrelated_texts() -> None:
    generator = np.random.default_rng(7)
    shared = np.full((1, 64), 1.0)

    def vectors(weight: float) -> NDArray[np.float32]:
        rows = (generator.standard_normal((100, 64)) + weight * shared).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    wide = fit_calibration("wide", vectors(0.0), vectors(0.0))
    narrow = fit_calibration("narrow", vectors(3.0), vectors(3.0))
    assert 0.1 < wide.unrelated < 0.3 < wide.related <= 1.0
    assert 0.0 < narrow.unrelated < wide.unrelated / 5
    assert narrow.unrelated < narrow.related < wide.related / 5


def test_vectors_that_say_nothing_cannot_be_calibrated() -> None:
    same = np.full((100, 4), 0.5, np.float32)
    with pytest.raises(ValueError, match="alike"):
        fit_calibration("constant", same, same)
    with pytest.raises(ValueError, match="each memory"):
        fit_calibration("short", same, same[:5])


@given(st.floats(0, 20), st.floats(0, 20), st.floats(1.5, 15))
def test_more_evidence_is_never_less_relevant(one: float, other: float, full: float) -> None:
    low, high = relevance(np.array(sorted([one, other]), np.float32), full).tolist()
    assert 0.0 <= low <= high <= 1.0


@given(st.floats(0.01, 1), st.floats(1.5, 15))
def test_relevance_and_evidence_are_inverse(wanted: float, full: float) -> None:
    assert relevance(np.array([evidence_of(wanted, full)], np.float32), full)[0] == pytest.approx(wanted, abs=1e-3)


def test_the_ends_of_the_scale() -> None:
    ends = relevance(np.array([-1.0, 0.0, 1.0, 4.0, 10.0], np.float32), 4.0)
    assert ends.tolist() == pytest.approx([0.0, 0.0, 0.7, 1.0, 1.0])
    assert evidence_of(0.0, 4.0) < 0
    assert relevance(np.array([evidence_of(1.0, 4.0)], np.float32), 4.0)[0] == 1.0
    assert evidence_of(1.1, 4.0) == np.inf


def test_good_and_better_stay_apart() -> None:
    scores = relevance(np.array([1.0, 2.0, 4.0, 8.0], np.float32), 8.0)
    assert np.diff(scores).tolist() == pytest.approx([0.1, 0.1, 0.1], abs=1e-6)


def test_what_all_questions_and_all_memories_share_does_not_make_them_alike() -> None:
    generator = np.random.default_rng(3)

    def vectors(shared: NDArray[np.float64]) -> NDArray[np.float32]:
        rows = generator.standard_normal((100, 32)) + shared
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    shared = 2 * generator.standard_normal((1, 32))
    memories, questions = vectors(shared), vectors(shared)
    fitted = fit_calibration("shared", memories, questions)
    assert float((questions @ memories.T).mean()) > 0.5
    aimed, level = fitted.aim(questions[0])
    assert float((memories @ aimed).mean()) == pytest.approx(level, abs=1e-3)
    assert float(fitted.similarity(memories @ aimed, level).mean()) < 0.1
    assert fitted.similarity(np.array([questions[0] @ aimed], np.float32), level)[0] > 0.5


def test_a_calibration_without_centres_leaves_a_question_as_it_is() -> None:
    question = np.array([0.6, 0.8], np.float32)
    aimed, level = Calibration().aim(question)
    assert aimed.tolist() == question.tolist()
    assert level == 0.0


def test_cosines_are_scaled_between_unrelated_and_related() -> None:
    calibration = Calibration(unrelated=0.5, related=0.9)
    scaled = calibration.similarity(np.array([0.1, 0.5, 0.7, 0.95], np.float32))
    assert scaled.tolist() == pytest.approx([0.0, 0.0, 0.5, 1.0])
