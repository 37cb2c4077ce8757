"""A process for the fault test: saves and deletes knowledge with the graph on, and says what is safe.

python -m tests.graph.worker STORE
"""

import asyncio
import sys

import lamina


async def main(store: str) -> None:
    """Save entries for ever; delete every third one again."""
    graph = {"enabled": True, "delay_s": 0.0, "batch_size": 2}
    async with lamina.open(store, knowledge={"enabled": True}, graph=graph) as app:
        for number in range(100_000):
            await app.knowledge.save(f"k{number}", f"Ann knows Bob{number}.", category="fact")
            if number % 3 == 0:
                await app.knowledge.delete(f"k{number}")
            else:
                sys.stdout.write(f"Bob{number}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
