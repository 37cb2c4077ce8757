"""Where a conversation may be cut. Pure.

A cut is a sequence number: everything up to it can be noted and archived. It is safe when it takes no tool call whose
result is still to come, no half of a call and its result, not the user's latest message, and nothing of the tail that
stays raw. Odd input never raises: a result without a call binds nothing, and calls that share an id are paired in turn.
"""

from collections.abc import Sequence

from lamina.session.types import Message, Role

ABANDONED_AFTER = 200
"""A call without a result after so many further messages is given up: otherwise one lost result would keep a
conversation raw for ever."""


def safe_cut(messages: Sequence[Message], *, retained_tokens: int = 0, abandoned_after: int = ABANDONED_AFTER) -> int:
    """The last sequence number a cut may take, 0 where it may take nothing; `messages` are in order, to the newest."""
    ends = safe_ends(messages, retained_tokens=retained_tokens, abandoned_after=abandoned_after)
    return ends[-1] if ends else 0


def safe_ends(
    messages: Sequence[Message], *, retained_tokens: int = 0, abandoned_after: int = ABANDONED_AFTER
) -> tuple[int, ...]:
    """Every safe cut, ascending. `messages` are in order and reach to the newest of the session."""
    latest = _latest_of_user(messages)
    spans = _open_spans(messages, abandoned_after)
    tail = sum(one.tokens for one in messages)
    found: list[int] = []
    for at, one in enumerate(messages if latest is None else messages[:latest]):
        tail -= one.tokens
        if tail < retained_tokens:
            break
        if not spans[at]:
            found.append(one.sequence)
    return tuple(found)


def batch_end(messages: Sequence[Message], ends: Sequence[int], *, max_tokens: int) -> int:
    """The largest of the safe cuts whose stretch has at most `max_tokens`, at least the first of them; 0 for none.

    So a single message or exchange that is larger than everything is a stretch of its own.
    """
    chosen, taken = 0, 0
    wanted = set(ends)
    for one in messages:
        taken += one.tokens
        if chosen and taken > max_tokens:
            break
        if one.sequence in wanted:
            chosen = one.sequence
    return chosen


def recent_window(messages: Sequence[Message], *, budget_tokens: int) -> tuple[Message, ...]:
    """The newest messages within a budget, oldest first, no tool call apart from its result; 0 is unlimited.

    The user's latest message and the newest exchange are always there, whatever they take: without them a model would
    not know what was asked or what it did last. When the way from the one to the other is too long, its middle is
    left out.
    """
    if not messages or not budget_tokens:
        return tuple(messages)
    starts = _starts(messages)
    start = starts.pop()
    asked = _asked(messages, starts)
    taken = sum(one.tokens for one in messages[start:])
    taken += sum(messages[at].tokens for at in asked if at < start)
    while starts:
        # What the user asked is paid for already where the window has not reached it yet.
        taken += sum(messages[at].tokens for at in range(starts[-1], start) if at not in asked)
        if taken > budget_tokens:
            break
        start = starts.pop()
    return (*(messages[at] for at in asked if at < start), *messages[start:])


def unanswered_results(messages: Sequence[Message]) -> bool:
    """Whether a result's call is not among the messages."""
    called: set[str] = set()
    for one in messages:
        called.update(call.id for call in one.calls)
        if any(result.call_id not in called for result in one.results):
            return True
    return False


def said_by_user(one: Message) -> bool:
    """Whether a message is the user's. Some protocols send results in the user's name; those are nobody's words."""
    return one.role is Role.USER and (bool(one.content) or not one.results)


def _latest_of_user(messages: Sequence[Message]) -> int | None:
    return max((at for at, one in enumerate(messages) if said_by_user(one)), default=None)


def _asked(messages: Sequence[Message], starts: Sequence[int]) -> range:
    """The user's latest message, with the exchange it belongs to where it carries a half of one."""
    at = _latest_of_user(messages)
    if at is None:
        return range(0)
    if not messages[at].calls and not messages[at].results:
        return range(at, at + 1)
    first = max((start for start in starts if start <= at), default=0)
    return range(first, min((start for start in starts if start > at), default=len(messages)))


def _starts(messages: Sequence[Message]) -> list[int]:
    """Places where a window may begin: no call before it has its result in it."""
    open_before = [False, *_open_spans(messages, 0)[:-1]]
    return [at for at, is_open in enumerate(open_before) if not is_open]


def _open_spans(messages: Sequence[Message], abandoned_after: int) -> list[bool]:
    """Whether, after each message, a call waits for its result; one without any waits to the end, or is given up."""
    steps = [0] * len(messages)
    waiting: dict[str, list[int]] = {}
    for at, one in enumerate(messages):
        for call in one.calls:
            waiting.setdefault(call.id, []).append(at)
        for result in one.results:
            calls = waiting.get(result.call_id)
            if calls:
                steps[calls.pop(0)] += 1
                steps[at] -= 1
    for calls in waiting.values():
        for at in calls:
            if len(messages) - 1 - at < abandoned_after:
                steps[at] += 1
    open_calls, spans = 0, []
    for step in steps:
        open_calls += step
        spans.append(open_calls > 0)
    return spans
