"""Turns async checks into plain test methods, and says in words what was expected.

A check is written as a coroutine on a fresh `Workbench` and becomes a blocking `test_...` method, so that pytest and
unittest run it alike, without a plugin. Not for assertions on our own code: those are plain `assert`s in our tests.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import anyio

from lamina.errors import LaminaError
from lamina.memory.provider import MemoryProvider
from lamina.testing.workbench import Workbench


class Suite(Protocol):
    """A class of checks that can make what it checks."""

    async def make_provider(self) -> MemoryProvider: ...


def check(body: Callable[[Any, Workbench], Awaitable[None]]) -> Callable[[Any], None]:
    """A test method that makes a provider, runs `body` on it in a new event loop, and shuts it down."""

    async def run(suite: Suite) -> None:
        provider = await suite.make_provider()
        try:
            await provider.initialize()
            await body(suite, Workbench(provider))
        finally:
            await provider.shutdown()

    def test(self: Suite) -> None:
        anyio.run(run, self)

    # Not functools.wraps: pytest would follow it and take the workbench for a fixture.
    test.__name__, test.__qualname__, test.__doc__ = body.__name__, body.__qualname__, body.__doc__
    test.__module__ = body.__module__
    return test


def equal(found: object, wanted: object, rule: str) -> None:
    """Raise AssertionError, with the rule and both values, unless they are equal."""
    if found != wanted:
        raise AssertionError(f"{rule}\n  expected: {wanted!r}\n  found:    {found!r}")


def holds(condition: bool, rule: str) -> None:
    """Raise AssertionError with the rule unless the condition holds."""
    if not condition:
        raise AssertionError(rule)


async def refuses(call: Awaitable[object], kind: type[LaminaError], rule: str) -> LaminaError:
    """The error the call raised; AssertionError with the rule when it raised another or none."""
    try:
        result = await call
    except kind as error:
        return error
    except Exception as error:  # boundary: whatever else a third party raises is what the rule forbids
        raise AssertionError(f"{rule}\n  expected: {kind.__name__}\n  raised:   {error!r}") from error
    raise AssertionError(f"{rule}\n  expected: {kind.__name__}\n  returned: {result!r}")
