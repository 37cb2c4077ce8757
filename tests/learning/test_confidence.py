"""Confidence is the mean of a Beta posterior."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.learning.confidence import UNTRIED, USER_SAID, Belief

COUNT = st.integers(0, 10_000)
BELIEFS = st.builds(Belief, alpha=st.floats(0.5, 1e6), beta=st.floats(0.5, 1e6))


@pytest.mark.requirement("knowledge.learning.confidence")
def test_it_starts_at_a_half_and_two_successes_pass_the_threshold() -> None:
    assert UNTRIED.confidence == 0.5
    assert UNTRIED.after(successes=1).confidence == pytest.approx(2 / 3)
    assert UNTRIED.after(successes=2).confidence == 0.75 > 0.7


def test_the_users_word_is_trusted_until_it_fails_three_times() -> None:
    assert USER_SAID.confidence == 0.9
    assert USER_SAID.after(failures=2).confidence > 0.7 > USER_SAID.after(failures=3).confidence


@given(BELIEFS, COUNT, COUNT)
def test_it_stays_between_0_and_1(belief: Belief, successes: int, failures: int) -> None:
    assert 0 < belief.after(successes=successes, failures=failures).confidence < 1


@given(BELIEFS)
def test_a_success_raises_it_and_a_failure_lowers_it(belief: Belief) -> None:
    assert belief.after(failures=1).confidence < belief.confidence < belief.after(successes=1).confidence


@given(st.lists(st.booleans(), max_size=50), st.randoms())
def test_the_order_of_outcomes_does_not_matter(outcomes: list[bool], random: object) -> None:
    shuffled = outcomes[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    def after(all_of_them: list[bool]) -> Belief:
        belief = UNTRIED
        for success in all_of_them:
            belief = belief.after(successes=int(success), failures=int(not success))
        return belief

    assert after(outcomes) == after(shuffled)
    assert after(outcomes) == UNTRIED.after(successes=sum(outcomes), failures=len(outcomes) - sum(outcomes))


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_with_many_outcomes_it_is_their_share(successes: int, failures: int) -> None:
    share = successes / (successes + failures)
    assert abs(UNTRIED.after(successes=successes, failures=failures).confidence - share) <= 1 / (successes + failures)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 1), (1, 0), (-1, 1), (float("nan"), 1)])
def test_a_belief_needs_something_on_both_sides(alpha: float, beta: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Belief(alpha=alpha, beta=beta)


def test_outcomes_cannot_be_taken_back() -> None:
    with pytest.raises(ValueError, match="not taken back"):
        UNTRIED.after(successes=-1)
