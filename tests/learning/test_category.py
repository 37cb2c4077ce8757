"""What kind of trouble an error is."""

import pytest

from lamina.learning.category import categorise, error_kinds
from lamina.learning.pattern import error_text
from lamina.learning.types import LearningCategory


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("request timed out", "timeout"),
        ("Read timeout after 30s", "timeout"),
        ("context deadline exceeded", "timeout"),
        ("permission denied", "permission"),
        ("Access denied for user", "permission"),
        ("403 Forbidden", "permission"),
        ("operation not permitted", "permission"),
        ("API returned 500", "provider_error"),
        ("the model is overloaded", "provider_error"),
        ("rate limit reached", "provider_error"),
        ("status code: 429", "provider_error"),
        ("rapid capital remodelling failed", "tool_error"),
        ("no such file", "tool_error"),
        ("", "tool_error"),
        ("the API timed out", "timeout"),
    ],
)
def test_whole_words_decide(text: str, category: str) -> None:
    assert categorise(text, tool="t").value == category


def test_without_a_tool_what_is_nothing_else_is_general() -> None:
    assert categorise("no such file", tool=None) is LearningCategory.GENERAL


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (TimeoutError(), "timeout"),
        (PermissionError(13, "x"), "permission"),
        (ConnectionError("gone"), "tool_error"),
        (type("APIStatusError", (Exception,), {})("x"), "provider_error"),
        (type("RateLimitError", (Exception,), {})("x"), "provider_error"),
        (ExceptionGroup("several", [TimeoutError("x")]), "timeout"),
    ],
)
def test_the_type_of_an_error_decides(error: Exception, category: str) -> None:
    assert categorise(error_text(error), tool="t", kinds=error_kinds(error)).value == category


def test_what_caused_an_error_decides_too() -> None:
    outer = RuntimeError("it did not work")
    outer.__cause__ = TimeoutError()
    assert categorise("it did not work", tool="t", kinds=error_kinds(outer)) is LearningCategory.TIMEOUT


def test_errors_that_cause_each_other_come_to_an_end() -> None:
    one, other = RuntimeError("a"), RuntimeError("b")
    one.__cause__, other.__cause__ = other, one
    assert error_kinds(one) == ("RuntimeError",)
