"""A process for the fault tests: adds memories one by one and says which are safe.

python -m tests.faults.worker STORE NAME COUNT
"""

import asyncio
import os
import sys

import lamina


async def add_memories(store: str, name: str, count: int) -> None:
    """Add `count` memories for the user `name` and print each id once it is acknowledged."""
    async with lamina.open(store) as app:
        for number in range(count):
            added = await app.memory.add(f"process {os.getpid()} keeps note {number} about the harbour", user_id=name)
            sys.stdout.write(f"{added.id}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(add_memories(sys.argv[1], sys.argv[2], int(sys.argv[3])))
