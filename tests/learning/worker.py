"""A process for the tests: a wrapped tool fails again and again.

python -m tests.learning.worker STORE COUNT
"""

import asyncio
import sys

from tests.learning.opening import learning_app


def connect(port: int) -> None:
    """Fail, each time a little differently."""
    raise ConnectionError(f"nothing listens on port {port}")


async def fail(store: str, count: int) -> None:
    """Fail `count` times, and record an outcome of the fix as often."""
    async with learning_app(store) as app:
        tool = app.learning.wrap(connect)
        saved = await app.learning.save("Use port 1.", tool="connect", error="nothing listens on port 5")
        for number in range(count):
            try:
                tool(number)
            except ConnectionError:
                await app.learning.record_outcome(saved.learning.id, success=number % 2 == 0)
        await app.learning.drain()


if __name__ == "__main__":
    asyncio.run(fail(sys.argv[1], int(sys.argv[2])))
