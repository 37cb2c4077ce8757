"""A process of its own that appends to the session `shared` of the store named as the first argument.

`append NAME COUNT` appends COUNT messages with ids of their own and prints each sequence number once it is stored;
`exchange NAME COUNT` appends COUNT pairs of tool call and result, each pair in one transaction;
`churn NAME COUNT` appends, compacts up to the last safe cut, and prints what it did.
"""

import asyncio
import sys

from lamina.app import App
from lamina.session.cut import safe_cut
from tests.session.opening import answering, calling, talking_app


async def append(app: App, name: str, count: int) -> None:
    for number in range(count):
        stored = await app.sessions.append(
            role="user", content=f"{name} says line {number}", id=f"{name}-{number}", session_key="shared"
        )
        print(stored.sequence, flush=True)


async def exchange(app: App, name: str, count: int) -> None:
    for number in range(count):
        id = f"{name}-{number}"
        stored = await app.sessions.append_many([calling(id), answering(id, f"{name} {number}")], session_key="shared")
        print(stored[-1].sequence, flush=True)


async def churn(app: App, name: str, count: int) -> None:
    for number in range(count):
        await app.sessions.append(role="user", content=f"{name} says line {number}", session_key="shared")
        cut = safe_cut(await app.sessions.messages("shared", limit=1000))
        await app.sessions.compact_messages("shared", up_to=cut, summary=f"up to {cut}")
        print(cut, flush=True)


async def main(url: str, mode: str, name: str, count: int) -> None:
    async with talking_app(url) as app:
        await {"append": append, "exchange": exchange, "churn": churn}[mode](app, name, count)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
