"""A new process that opens a store and asks: `python -m benchmarks.newcomer ADDRESS USER QUESTION` prints how long.

It imports nothing of the other benchmarks, because importing Lamina is part of what it measures.
"""

import asyncio
import json
import sys
import time
from itertools import pairwise


async def main(url: str, user_id: str, question: str) -> None:
    """Print the milliseconds of each step as JSON."""
    marks = [time.perf_counter()]
    from lamina.app import App
    from lamina.config import Settings
    from lamina.database.settings import DatabaseSettings

    marks.append(time.perf_counter())
    app = await App(Settings(database=DatabaseSettings(url=url))).start()
    marks.append(time.perf_counter())
    for asked in (question, f"{question} Really?"):
        await app.memory.search(asked, user_id=user_id)
        marks.append(time.perf_counter())
    await app.close()
    steps = ("import", "open", "first_search", "second_search")
    spans = ((after - before) * 1000 for before, after in pairwise(marks))
    print(json.dumps(dict(zip(steps, spans, strict=True))))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
