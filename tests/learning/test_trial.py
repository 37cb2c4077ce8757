"""What a tool's next call says about a fix."""

from lamina.learning.trial import Trials

KEY = ("tenant", "session", "tool")
OTHER = ("tenant", "another session", "tool")


def trials() -> Trials:
    return Trials(window_s=600)


def test_a_success_after_an_offer_speaks_for_the_fix() -> None:
    watching = trials()
    assert not watching.failed(KEY, "a", began=1, ended=2, now=0, offered=True)
    assert watching.succeeded(KEY, began=3, now=1) == ["a"]
    assert watching.succeeded(KEY, began=4, now=1) == []
    assert not watching.watches(KEY)


def test_the_same_error_after_an_offer_speaks_against_it() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=2, now=0, offered=True)
    assert watching.failed(KEY, "a", began=3, ended=4, now=1, offered=True)


def test_a_call_that_began_before_the_offer_says_nothing() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=5, now=0, offered=True)
    assert not watching.failed(KEY, "a", began=2, ended=6, now=0, offered=True)
    assert watching.succeeded(KEY, began=3, now=0) == []
    assert watching.succeeded(KEY, began=6, now=0) == ["a"]


def test_an_error_without_a_known_fix_says_nothing() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=2, now=0, offered=False)
    assert watching.succeeded(KEY, began=3, now=1) == []


def test_a_fix_that_is_saved_after_the_error_is_tried_next() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=2, now=0, offered=False)
    watching.offered(KEY, "a", step=3)
    assert watching.succeeded(KEY, began=4, now=1) == ["a"]


def test_another_error_decides_nothing() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=2, now=0, offered=True)
    assert not watching.failed(KEY, "b", began=3, ended=4, now=0, offered=False)
    assert watching.succeeded(KEY, began=5, now=0) == ["a"]


def test_another_session_decides_nothing() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=2, now=0, offered=True)
    assert watching.succeeded(OTHER, began=3, now=0) == []
    assert watching.watches(KEY)


def test_a_success_long_after_says_nothing() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=2, now=0, offered=True)
    assert watching.succeeded(KEY, began=3, now=601) == []


def test_an_outcome_that_was_told_is_not_counted_again() -> None:
    watching = trials()
    watching.failed(KEY, "a", began=1, ended=2, now=0, offered=True)
    watching.forget(KEY, "a")
    assert watching.succeeded(KEY, began=3, now=0) == []


def test_many_sessions_and_errors_take_bounded_room() -> None:
    watching = trials()
    for number in range(10_000):
        watching.failed(("t", str(number), "tool"), "a", began=1, ended=2, now=0, offered=True)
        watching.failed(KEY, str(number), began=1, ended=2, now=0, offered=True)
    assert not watching.watches(("t", "0", "tool"))
    assert watching.watches(("t", "9999", "tool"))
    assert len(watching.succeeded(KEY, began=3, now=0)) == 16
