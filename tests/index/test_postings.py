import numpy as np

from lamina.index.postings import Hits, Postings, impact


def add(postings: Postings, slot: int, terms: list[int]) -> None:
    size = len(terms)
    ones = np.ones(size, np.uint8)
    postings.add(np.array(terms, np.uint32), np.full(size, slot, np.int32), ones, ones.astype(np.float32))


def found(hits: Hits) -> list[list[int]]:
    """The slots of each term."""
    slots = iter(np.concatenate(hits.slots).tolist())
    by_term: list[list[int]] = [[] for _ in hits.sizes[0]]
    for sizes in hits.sizes:
        for term, size in enumerate(sizes):
            by_term[term] += [next(slots) for _ in range(size)]
    assert len(np.concatenate(hits.counts)) == len(np.concatenate(hits.impacts)) == sum(map(len, by_term))
    return by_term


def test_a_term_is_found_in_every_slot_that_has_it_in_order() -> None:
    postings = Postings()
    for slot in range(100):
        add(postings, slot, [slot % 7, 1000 + slot])
    hits = postings.gather(np.array([1042, 3, 999_999, 0], np.uint32))
    expected = [[42], list(range(3, 100, 7)), [], list(range(0, 100, 7))]
    assert hits.frequencies == list(map(len, expected))
    assert found(hits) == expected
    odd = hits.among(np.arange(100) % 2 == 1)
    assert found(odd) == [[slot for slot in slots if slot % 2] for slots in expected]
    assert not postings.gather(np.array([1042], np.uint32), counted=False).counts


def test_segments_stay_few() -> None:
    postings = Postings()
    for slot in range(2000):
        add(postings, slot, [slot])
    assert len(postings._segments) <= 8


def test_renumbering_drops_what_is_gone() -> None:
    postings = Postings()
    for slot in range(4):
        add(postings, slot, [5])
    postings.renumber(np.array([0, -1, 1, -1], np.int32))
    assert np.concatenate(postings.gather(np.array([5], np.uint32)).slots).tolist() == [0, 1]
    postings.renumber(np.array([-1, -1], np.int32))
    assert not postings.gather(np.array([5], np.uint32)).slots


def test_one_mention_in_a_text_of_normal_length_has_impact_one() -> None:
    lengths = np.array([20.0, 20.0, 80.0, 5.0], np.float32)
    values = impact(np.array([1, 2, 1, 1], np.uint8), lengths, pivot=20.0)
    assert abs(values[0] - 1) < 1e-6
    assert values[1] > values[3] > values[0] > values[2]
