"""Where a conversation may be cut, and which window of it a prompt shows: laws that hold for any conversation."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.session.cut import ABANDONED_AFTER, batch_end, recent_window, safe_cut, safe_ends, said_by_user
from lamina.session.types import Attachment, Message, Part, Role, ToolCall, ToolResult


def message(sequence: int, role: Role, *parts: Part, tokens: int = 10, content: str = "text") -> Message:
    return Message(
        session_key="s",
        sequence=sequence,
        id=str(sequence),
        role=role,
        content=content,
        parts=parts,
        at=datetime(2025, 1, 1, tzinfo=UTC),
        tokens=tokens,
    )


def user(sequence: int, tokens: int = 10) -> Message:
    return message(sequence, Role.USER, tokens=tokens)


def reply(sequence: int, tokens: int = 10) -> Message:
    return message(sequence, Role.ASSISTANT, tokens=tokens)


def call(sequence: int, *ids: str, tokens: int = 10) -> Message:
    return message(sequence, Role.ASSISTANT, *(ToolCall(id=id, name="t") for id in ids), tokens=tokens)


def result(sequence: int, *ids: str, tokens: int = 10) -> Message:
    return message(sequence, Role.TOOL, *(ToolResult(call_id=id, content="r") for id in ids), tokens=tokens)


def test_a_plain_conversation_is_cut_before_the_latest_message_of_the_user() -> None:
    talk = [user(1), reply(2), user(3), reply(4)]
    assert safe_ends(talk) == (1, 2)
    assert safe_cut(talk) == 2
    assert safe_cut([user(1)]) == 0
    assert safe_cut([]) == 0
    assert safe_cut([reply(1), reply(2)]) == 2


def test_a_tail_stays_raw() -> None:
    talk = [user(1), reply(2), user(3), reply(4)]
    assert safe_cut(talk, retained_tokens=20) == 2
    assert safe_cut(talk, retained_tokens=21) == 1
    assert safe_cut(talk, retained_tokens=1000) == 0


def test_a_call_and_its_results_stay_together() -> None:
    talk = [user(1), call(2, "a", "b"), result(3, "a"), result(4, "b"), reply(5), user(6)]
    assert safe_ends(talk) == (1, 4, 5)


def test_a_pending_call_holds_everything_from_it_on() -> None:
    talk = [user(1), call(2, "a"), user(3), reply(4), user(5)]
    assert safe_ends(talk) == (1,)
    answered = [*talk[:-1], result(5, "a"), user(6)]
    assert safe_ends(answered) == (1, 5)


def test_a_call_that_nobody_answers_is_given_up_in_the_end() -> None:
    lost = [call(1, "a"), *(reply(number) for number in range(2, ABANDONED_AFTER + 1)), user(ABANDONED_AFTER + 1)]
    assert safe_cut(lost[:-1]) == 0
    assert safe_cut(lost) == ABANDONED_AFTER


def test_odd_parts_bind_nothing_and_never_raise() -> None:
    talk = [
        result(1, "never asked for"),
        call(2, "same"),
        call(3, "same"),
        result(4, "same"),
        result(5, "same"),
        result(6, "same"),
        message(7, Role.SYSTEM, Attachment(media_type="image/png")),
        user(8),
    ]
    assert safe_ends(talk) == (1, 5, 6, 7)
    assert recent_window(talk, budget_tokens=10_000) == tuple(talk)


def test_a_result_sent_in_the_users_name_is_not_what_the_user_said() -> None:
    sent = message(3, Role.USER, ToolResult(call_id="a", content="r"), content="")
    talk = [user(1), call(2, "a"), sent, reply(4)]
    assert not said_by_user(sent)
    assert safe_ends(talk) == ()
    assert safe_ends([*talk, user(5)]) == (1, 3, 4)


def test_a_stretch_has_at_most_so_many_tokens_and_at_least_one_exchange() -> None:
    talk = [user(1), reply(2), user(3, tokens=500), reply(4), user(5)]
    ends = safe_ends(talk)
    assert ends == (1, 2, 3, 4)
    assert batch_end(talk, ends, max_tokens=25) == 2
    assert batch_end(talk, ends, max_tokens=5) == 1
    assert batch_end(talk[2:], ends[2:], max_tokens=100) == 3
    assert batch_end(talk, ends, max_tokens=10_000) == 4
    assert batch_end(talk, (), max_tokens=10) == 0


def test_a_window_is_the_newest_that_fits() -> None:
    talk = [user(1), reply(2), user(3), reply(4), user(5)]
    assert recent_window(talk, budget_tokens=30) == tuple(talk[2:])
    assert recent_window(talk, budget_tokens=29) == tuple(talk[3:])
    assert recent_window(talk, budget_tokens=1) == (talk[4],)
    assert recent_window(talk, budget_tokens=0) == tuple(talk)
    assert recent_window([], budget_tokens=10) == ()


def test_a_window_begins_with_the_call_or_after_the_result() -> None:
    talk = [user(1), call(2, "a"), result(3, "a"), reply(4), user(5)]
    assert recent_window(talk, budget_tokens=30) == tuple(talk[3:])
    assert recent_window(talk, budget_tokens=40) == tuple(talk[1:])


def test_a_long_way_after_the_question_is_left_out_in_the_middle() -> None:
    work = [step for at in range(2, 22, 2) for step in (call(at, f"c{at}"), result(at + 1, f"c{at}"))]
    talk = [user(1), *work]
    shown = recent_window(talk, budget_tokens=55)
    assert shown == (talk[0], *talk[-4:])
    assert recent_window(talk, budget_tokens=1) == (talk[0], *talk[-2:])


def test_a_question_that_carries_a_result_brings_its_call_along() -> None:
    both = message(3, Role.USER, ToolResult(call_id="a", content="r"), content="and now?")
    talk = [user(1), call(2, "a"), both, *(reply(number) for number in range(4, 10))]
    assert recent_window(talk, budget_tokens=45) == (talk[1], both, *talk[-2:])


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Any sequence of roles, calls, results in any order, repeated ids, and sizes."""
    ids = st.sampled_from(["a", "b", "c"])
    part = st.one_of(
        st.builds(ToolCall, id=ids, name=st.just("t")),
        st.builds(ToolResult, call_id=ids, content=st.just("r")),
        st.just(Attachment(media_type="image/png")),
    )
    shapes = draw(
        st.lists(
            st.tuples(
                st.sampled_from(list(Role)),
                st.lists(part, max_size=3),
                st.integers(1, 50),
                st.sampled_from(["text", ""]),
            ),
            max_size=14,
        )
    )
    first = draw(st.integers(1, 1000))
    return [
        message(first + at, role, *parts, tokens=tokens, content=content)
        for at, (role, parts, tokens, content) in enumerate(shapes)
    ]


def pairs(messages: Sequence[Message]) -> list[tuple[int, int | None]]:
    """Each call with its result, which takes the oldest open call of its id: where both stand, None for none yet."""
    asked = [(at, each.id) for at, one in enumerate(messages) for each in one.calls]
    given = [(at, each.call_id) for at, one in enumerate(messages) for each in one.results]
    found: list[tuple[int, int | None]] = []
    for start, name in asked:
        fitting = [one for one in given if one[1] == name and one[0] >= start]
        found.append((start, fitting[0][0] if fitting else None))
        if fitting:
            given.remove(fitting[0])
    return found


@settings(deadline=None)
@given(talk=conversations(), retained=st.integers(0, 200))
def test_every_cut_keeps_calls_with_their_results_and_the_users_latest_message(
    talk: list[Message], retained: int
) -> None:
    latest = max((at for at, one in enumerate(talk) if said_by_user(one)), default=None)
    ends = safe_ends(talk, retained_tokens=retained)
    assert list(ends) == sorted(set(ends))
    for at, one in enumerate(talk):
        taken = at + 1
        kept = sum(each.tokens for each in talk[taken:])
        whole = all(answer is not None and answer < taken for start, answer in pairs(talk) if start < taken)
        allowed = whole and kept >= retained and (latest is None or at < latest)
        assert (one.sequence in ends) == allowed


@settings(deadline=None)
@given(talk=conversations(), retained=st.integers(0, 60), most=st.integers(1, 120))
def test_stretches_cover_everything_up_to_the_cut_once(talk: list[Message], retained: int, most: int) -> None:
    cut = safe_cut(talk, retained_tokens=retained)
    covered: list[int] = []
    rest = list(talk)
    while end := batch_end(rest, safe_ends(rest, retained_tokens=retained), max_tokens=most):
        stretch = [one for one in rest if one.sequence <= end]
        covered += [one.sequence for one in stretch]
        rest = rest[len(stretch) :]
    assert covered == [one.sequence for one in talk if one.sequence <= cut]


@settings(deadline=None)
@given(talk=conversations(), budget=st.integers(1, 400))
def test_a_window_splits_nothing_and_has_what_was_asked_last(talk: list[Message], budget: int) -> None:
    shown = recent_window(talk, budget_tokens=budget)
    places = [talk.index(one) for one in shown]
    assert places == sorted(set(places))
    for start, answer in pairs(talk):
        if answer is not None:
            assert (start in places) == (answer in places)
    latest = max((at for at, one in enumerate(talk) if said_by_user(one)), default=None)
    assert latest is None or latest in places
    assert not talk or len(talk) - 1 in places
    if sum(one.tokens for one in shown) > budget:  # only by what must be there
        assert shown == recent_window(talk, budget_tokens=1)


@settings(deadline=None)
@given(talk=conversations(), budget=st.integers(1, 400))
def test_more_room_never_shows_less(talk: list[Message], budget: int) -> None:
    small = recent_window(talk, budget_tokens=budget)
    assert set(map(id, small)) <= set(map(id, recent_window(talk, budget_tokens=budget + 50)))
