"""A process whose children die, killed at one statement after the other, while they observe.

python -m tests.observation.dying URL

Child number n talks in a session of its own and is killed at the n-th statement of a turn there that does everything a
turn can do. When children get to the end unharmed, that is all; how many died, and how many there were, is printed.
"""

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from lamina.database.link import Link
from lamina.observation.settings import ObservationSettings
from lamina.session.types import NewMessage, Role
from tests.observation.bench import Bench, bench_on

_AT_ONCE = 12
SETTINGS = ObservationSettings(
    enabled=True,
    message_token_threshold=40,
    observation_token_threshold=1,
    retained_tail_tokens=0,
    max_batch_tokens=60,
    consolidation_threshold=2,
)
"""Six messages make two observations, which make two reflections, which make one of the second generation."""


def session_of(number: int) -> str:
    """The session of a child."""
    return f"direct:{number}"


async def talk(bench: Bench, key: str) -> None:
    """What is said in every session."""
    said = [
        NewMessage(role=Role.USER if number % 2 else Role.ASSISTANT, content=f"{number} " + "harbour " * 14)
        for number in range(8)
    ]
    await bench.sessions.append_many(said, session_key=key)


def before_each_statement(call: Callable[[], None]) -> Callable[[], None]:
    """Have something called before every statement of this process; what comes back ends that."""
    originals: dict[str, Any] = {name: getattr(Link, name) for name in ("run", "run_many", "execute")}

    def watched(original: Any) -> Any:
        def watch(*given: Any) -> Any:
            call()
            return original(*given)

        return watch

    for name, original in originals.items():
        setattr(Link, name, watched(original))

    def undo() -> None:
        for name, original in originals.items():
            setattr(Link, name, original)

    return undo


async def prepare(bench: Bench, key: str) -> None:
    """Talk, and observe until one turn is left that observes, condenses, and condenses what was condensed."""
    await talk(bench, key)
    while (await bench.state(key)).watermark < 3:
        await bench.turn(key)


async def observe(url: str, number: int) -> None:
    """Take the last turn, to its end or to death."""
    async with bench_on(url, settings=SETTINGS, pool_size=2) as bench:
        await prepare(bench, session_of(number))
        left = number

        def die() -> None:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        before_each_statement(die)
        await bench.turn(session_of(number))


def main(url: str) -> None:
    """Some children at a time, because they mostly wait for the disk."""
    died, number = 0, 0
    while died == number:
        children = [_start(url, number + place) for place in range(1, _AT_ONCE + 1)]
        number += len(children)
        for child in children:
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status):
                died += 1
            elif status:
                sys.exit(f"a child failed with {status}")
    sys.stdout.write(f"{died} {number}\n")


def _start(url: str, number: int) -> int:
    child = os.fork()
    if not child:
        try:
            asyncio.run(observe(url, number))
        except BaseException:  # noqa: BLE001 -- boundary: a child must never go on with its parent's loop
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


if __name__ == "__main__":
    main(sys.argv[1])
