"""A process of its own that saves knowledge in the store named as the first argument.

`versions NAME COUNT` saves COUNT versions of the key `shared`; `slots NAME COUNT` tries to save COUNT new keys in the
session `s`. Prints one line per save: the version, or the code of the error.
"""

import asyncio
import sys

from lamina.errors import LaminaError
from tests.knowledge.opening import knowing_app


async def main(url: str, mode: str, name: str, count: int) -> None:
    """Save one after another."""
    async with knowing_app(url, max_saves_per_session=10) as app:
        for number in range(count):
            key, session = ("shared", None) if mode == "versions" else (f"{name}-{number}", "s")
            try:
                saved = await app.knowledge.save(key, f"{name} {number}", category="fact", session_key=session)
                print(saved.entry.version, flush=True)
            except LaminaError as error:
                print(error.code, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
