"""The OpenAI-compatible endpoint as a part of the service: whose key, whose tenant, whose conversation."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from lamina.access.types import Right
from lamina.errors import SessionNotFoundError
from tests.llm.scripted import ChatServer, running
from tests.server.served import Served, service_on

pytestmark = pytest.mark.anyio

HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture(scope="module")
def upstream() -> Iterator[ChatServer]:
    with running(ChatServer()) as server:
        yield server


@pytest.fixture(scope="module")
async def served(upstream: ChatServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    url = f"sqlite:///{tmp_path_factory.mktemp('endpoint') / 'lamina.db'}"
    async with service_on(url, proxy={"upstream": upstream.url}) as one:
        yield one


async def say(served: Served, headers: dict[str, str], *, session: str = "s:1", **more: str) -> httpx2.Response:
    return await served.http.post(
        "/v1/chat/completions", json=HI, headers={**headers, "x-lamina-session": session, **more}
    )


async def stored(served: Served, tenant: str, session: str) -> list[str]:
    """What is stored of a session, once it is."""
    sessions = served.app.for_tenant(tenant).sessions
    texts: list[str] = []
    for _ in range(5000):
        with suppress(SessionNotFoundError):
            texts = [message.content for message in await sessions.messages(session)]
        if len(texts) == 2:
            break
    return texts


async def test_without_keys_the_client_s_own_key_passes(served: Served, upstream: ChatServer) -> None:
    answer = await say(served, {"authorization": "Bearer theirs"}, session="open:1")
    assert answer.json()["choices"][0]["message"]["content"] == "Hello."
    assert upstream.headers[-1]["authorization"] == "Bearer theirs"
    assert await stored(served, "default", "open:1") == ["Hi", "Hello."]


async def test_a_key_decides_on_the_tenant_and_stays_here(served: Served, upstream: ChatServer) -> None:
    acme = await served.key(tenant="acme")
    secret = acme["authorization"].removeprefix("Bearer ")
    assert (await say(served, {"x-api-key": secret}, authorization="Bearer theirs", session="s:0")).status_code == 200
    assert upstream.headers[-1]["authorization"] == "Bearer theirs"
    assert (await say(served, acme)).status_code == 200
    assert await stored(served, "acme", "s:1") == ["Hi", "Hello."]
    assert "lamina_" not in str(upstream.headers)
    with pytest.raises(SessionNotFoundError):
        await served.app.for_tenant("default").sessions.get("s:1")


async def test_a_user_s_key_has_the_user_s_conversations(served: Served) -> None:
    ann, bob = await served.key(tenant="beta", user_id="ann"), await served.key(tenant="beta", user_id="bob")
    assert (await say(served, ann)).status_code == 200
    await stored(served, "beta", "s:1")
    assert (await served.app.for_tenant("beta").sessions.get("s:1")).user_id == "ann"
    refused = await say(served, bob)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "session_not_found")
    other = await say(served, ann, session="s:2", **{"x-lamina-user": "bob"})
    assert (other.status_code, other.json()["error"]["code"]) == (403, "forbidden")


async def test_who_may_only_read_has_no_conversation(served: Served) -> None:
    reader = await served.key(Right.READ, tenant="acme")
    refused = await say(served, reader)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    embedded = await served.http.post("/v1/embeddings", json={"model": "m", "input": "dark"}, headers=reader)
    assert embedded.status_code == 200


async def test_what_lies_below_the_paths_is_passed_on(served: Served, upstream: ChatServer) -> None:
    writer = await served.key(tenant="acme")
    await served.http.get("/v1/models/m-1", headers=writer)
    assert upstream.requests[-1]["path"] == "/v1/models/m-1"
