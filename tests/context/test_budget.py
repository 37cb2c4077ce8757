"""One budget for all sections: laws of the distribution."""

from hypothesis import given
from hypothesis import strategies as st

from lamina.context.budget import UNLIMITED, Demand, Grant, allowances, distribute, fill

demands = st.lists(
    st.builds(
        Demand,
        share=st.floats(0.01, 1),
        frame=st.integers(0, 30),
        sizes=st.lists(st.integers(1, 200), max_size=8).map(tuple),
    ),
    max_size=10,
)


def cost(demand: Demand, grant: Grant) -> int:
    """What a section takes in the end."""
    return demand.frame + sum(demand.sizes[number] for number in grant.taken) if grant.taken else 0


@given(demands, st.integers(1, 3000))
def test_the_budget_is_never_exceeded(asked: list[Demand], budget: int) -> None:
    grants = distribute(asked, budget)
    assert sum(map(cost, asked, grants)) <= budget
    assert sum(allowances(asked, budget)) <= budget or sum(one.tokens for one in asked) <= budget


@given(demands, st.integers(1, 3000))
def test_what_was_left_out_does_not_fit_any_more(asked: list[Demand], budget: int) -> None:
    grants = distribute(asked, budget)
    left = budget - sum(map(cost, asked, grants))
    for demand, grant in zip(asked, grants, strict=True):
        frame = 0 if grant.taken else demand.frame
        assert all(size + frame > left for number, size in enumerate(demand.sizes) if number not in grant.taken)


@given(demands)
def test_enough_is_enough_and_no_limit_cuts_nothing(asked: list[Demand]) -> None:
    total = sum(one.tokens for one in asked)
    for budget in (UNLIMITED, total or 1, total + 1000):
        assert [grant.taken for grant in distribute(asked, budget)] == [list(range(len(one.sizes))) for one in asked]


@given(demands)
def test_below_nothing_nothing_fits(asked: list[Demand]) -> None:
    assert all(not grant.taken for grant in distribute(asked, -1))


def test_a_share_that_is_not_needed_moves_to_where_the_content_is() -> None:
    poor = Demand(share=0.5, frame=0, sizes=(10,))
    rich = Demand(share=0.25, frame=0, sizes=(10,) * 50)
    other = Demand(share=0.25, frame=0, sizes=(10,) * 50)
    assert allowances([poor, rich, other], 210) == [10, 100, 100]
    assert allowances([poor, rich, Demand(share=0.25, frame=0, sizes=())], 210) == [10, 200, 0]


def test_shares_decide_when_everybody_wants_more() -> None:
    greedy = [Demand(share=share, frame=0, sizes=(10,) * 100) for share in (0.5, 0.3, 0.2)]
    assert [len(grant.taken) for grant in distribute(greedy, 1000)] == [50, 30, 20]


def test_one_that_does_not_fit_is_passed_over_and_smaller_ones_still_come() -> None:
    (grant,) = distribute([Demand(share=1, frame=0, sizes=(10, 500, 10))], 30)
    assert grant.taken == [0, 2]


@given(demands, st.integers(1, 3000))
def test_filling_never_exceeds_the_budget_and_leaves_no_hole(asked: list[Demand], budget: int) -> None:
    grants = fill(asked, budget)
    assert sum(map(cost, asked, grants)) <= budget
    wanted = [(section, number) for section, demand in enumerate(asked) for number in range(len(demand.sizes))]
    taken = [(section, number) for section, grant in enumerate(grants) for number in grant.taken]
    assert taken == wanted[: len(taken)]
    if len(taken) < len(wanted):
        section, number = wanted[len(taken)]
        frame = 0 if grants[section].taken else asked[section].frame
        assert sum(map(cost, asked, grants)) + asked[section].sizes[number] + frame > budget


@given(demands)
def test_filling_without_a_limit_takes_everything_and_below_nothing_takes_nothing(asked: list[Demand]) -> None:
    assert [grant.taken for grant in fill(asked, UNLIMITED)] == [list(range(len(one.sizes))) for one in asked]
    assert all(not grant.taken for grant in fill(asked, -1))


def test_filling_gives_a_section_nothing_while_the_one_before_it_is_cut() -> None:
    first = Demand(share=0, frame=0, sizes=(80, 80))
    second = Demand(share=0, frame=0, sizes=(10,))
    assert [grant.taken for grant in fill([first, second], 100)] == [[0], []]
    assert [grant.taken for grant in fill([first, second], 165)] == [[0, 1], []]
    assert [grant.taken for grant in fill([first, second], 170)] == [[0, 1], [0]]
