"""Sends one request in a process of its own: `python -m tests.access.worker URL MODE`.

`hang` writes, says so and never answers; `once` prints how its answer came about, again and again until it has one.
"""

import asyncio
import sys

from lamina.access.idempotency import Answer, request_digest
from lamina.access.types import Grant
from lamina.app import App
from lamina.errors import ConflictError
from lamina.memory.types import Identifiers, NewMemory
from tests.stores import app_on

GRANT = Grant(tenant="default", key_id="0123456789abcdef")
KEY = "order-1"
DIGEST = request_digest(b"POST", b"/v1/memories", b"{}")


async def add_once(app: App, id: str) -> Answer:
    """Add a memory under an id, unless it is there."""
    memory = app.memory.scoped(user_id="ann")
    if await memory.get(id) is None:
        await memory.bulk_add([NewMemory(content="An order was made", identifiers=Identifiers(user_id="ann"), id=id)])
    return Answer(status=201, body=id.encode())


async def main(url: str, mode: str) -> None:
    """Do it."""

    async with app_on(url) as app:

        async def work(id: str) -> Answer:
            answer = await add_once(app, id)
            if mode == "hang":
                print(f"written {id}", flush=True)
                await asyncio.Event().wait()
            return answer

        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        while True:
            try:
                answer = await app.idempotency.once(GRANT, KEY, DIGEST, work)
            except ConflictError:
                await asyncio.sleep(0.01)
            else:
                print(f"{'repeated' if answer.repeated else 'done'} {answer.body.decode()}", flush=True)
                return


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
