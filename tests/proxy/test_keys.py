"""The endpoint inside the service: a key says whose memory it is, and no client reaches another's by naming it."""

import asyncio
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import openai
import pytest

from lamina.app import App, open
from lamina.errors import SessionNotFoundError
from lamina.page.door import COOKIE
from lamina.server.running import serving
from lamina.session.types import Message
from tests.llm.scripted import ChatServer, running

T = TypeVar("T")
UPSTREAM_KEY = "sk-upstream-0123456789abcdef"
PEOPLE: dict[str, dict[str, Any]] = {
    "ann": {"user_id": "ann"},
    "bob": {"user_id": "bob"},
    "web": {"project_id": "web"},
    "ann-on-web": {"user_id": "ann", "project_id": "web"},
    "reader": {"right": "read"},
    "everyone": {},
    "admin": {"right": "admin"},
}


@dataclass(slots=True)
class Service:
    """A running service before a scripted upstream, with a key for each of `PEOPLE` and one of another tenant."""

    app: App
    url: str
    upstream: ChatServer
    loop: asyncio.AbstractEventLoop
    keys: dict[str, str]

    def run(self, work: Callable[[App], Awaitable[T]]) -> T:
        async def within() -> T:
            return await work(self.app)

        return asyncio.run_coroutine_threadsafe(within(), self.loop).result(60)

    def say(self, who: str, text: str, **options: Any) -> str | None:
        """What a real client hears when it says something."""
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key=self.keys[who], max_retries=0, timeout=30)
        with client:
            answer = client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": text}], extra_headers=options
            )
        return answer.choices[0].message.content

    def messages(self, tenant: str, key: str, count: int) -> tuple[Message, ...]:
        """What is stored of a session, once there is so much of it: it is stored in the background."""
        for _ in range(5000):
            with suppress(SessionNotFoundError):
                stored = self.run(lambda app: app.for_tenant(tenant).sessions.messages(key, archived=None))
                if len(stored) >= count:
                    return stored
        raise AssertionError(f"fewer than {count} messages are stored")

    def ask(self, method: str, path: str, who: str, **options: Any) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.keys[who]}", **options.pop("headers", {})}
        return httpx2.request(method, f"{self.url}{path}", headers=headers, timeout=30, **options)


@pytest.fixture(scope="module")
def opened(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    path = tmp_path_factory.mktemp("keys") / "lamina.db"
    shutil.copy(migrated_file, path)
    started, stop, loop = threading.Event(), asyncio.Event(), asyncio.new_event_loop()
    found: list[Service] = []

    async def live(upstream: ChatServer) -> None:
        async with AsyncExitStack() as stack:
            app = await stack.enter_async_context(
                open(
                    str(path),
                    memory={"sweep_interval_s": 0.0},
                    server={"port": 0, "page": False, "mcp": False},
                    proxy={"upstream": upstream.url, "upstream_key_env": "THEIR_KEY"},
                )
            )
            keys = {name: (await app.keys.create(name, **options)).secret for name, options in PEOPLE.items()}
            keys["acme"] = (await app.for_tenant("acme").keys.create("theirs")).secret
            endpoint = await stack.enter_async_context(serving(app))
            found.append(Service(app=app, url=endpoint.url, upstream=upstream, loop=loop, keys=keys))
            started.set()
            await stop.wait()

    with running(ChatServer()) as upstream, pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEIR_KEY", UPSTREAM_KEY)
        thread = threading.Thread(target=lambda: loop.run_until_complete(live(upstream)), name="service")
        thread.start()
        assert started.wait(60)
        try:
            yield found[0]
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
            loop.close()


@pytest.fixture
def service(opened: Service) -> Service:
    for told in (opened.upstream.requests, opened.upstream.headers, opened.upstream.bodies):
        told.clear()
    return opened


def test_what_is_said_belongs_to_the_tenant_of_the_key(service: Service) -> None:
    session = {"x-lamina-session": "shared:name"}
    service.say("everyone", "The code word is heron", **session)
    service.say("acme", "The code word is falcon", **session)
    ours = service.messages("default", "shared:name", 2)
    theirs = service.messages("acme", "shared:name", 2)
    assert (ours[0].content, theirs[0].content) == ("The code word is heron", "The code word is falcon")
    assert len(ours) == len(theirs) == 2


def test_the_upstream_gets_its_own_key_and_never_ours(service: Service) -> None:
    service.say("everyone", "Hi")
    service.ask(
        "POST",
        "/v1/chat/completions",
        "everyone",
        json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        headers={"authorization": "Bearer sk-mine", "x-api-key": service.keys["everyone"]},
    )
    assert [sent["authorization"] for sent in service.upstream.headers] == [f"Bearer {UPSTREAM_KEY}"] * 2
    assert not any(secret in str(service.upstream.headers) for secret in service.keys.values())


def test_the_upstream_gets_no_session_of_the_page(service: Service) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    for cookie in ("theirs=1", f"theirs=1; {COOKIE}=token"):
        service.ask("POST", "/v1/chat/completions", "everyone", json=body, headers={"cookie": cookie})
    assert [sent.get("cookie") for sent in service.upstream.headers] == ["theirs=1", None]


def test_a_key_of_a_user_decides_the_user(service: Service) -> None:
    service.run(lambda app: app.memory.add("Ann drinks oat milk in her coffee", user_id="ann"))
    service.run(lambda app: app.memory.add("Bob drinks oat milk in his tea", user_id="bob"))
    service.say("ann", "Who drinks oat milk?", **{"x-lamina-session": "ann:1"})
    sent = str(service.upstream.requests[-1])
    assert "in her coffee" in sent
    assert "in his tea" not in sent
    service.messages("default", "ann:1", 2)
    assert service.run(lambda app: app.sessions.get("ann:1")).user_id == "ann"


def test_the_project_of_a_key_is_known_to_it_and_to_nobody_else(service: Service) -> None:
    service.run(lambda app: app.memory.add("The web project deploys on Tuesday", layer="project", project_id="web"))
    for who in ("ann-on-web", "ann"):
        service.say(who, "When does the web project deploy?")
    assert ["on Tuesday" in str(sent) for sent in service.upstream.requests] == [True, False]


@pytest.mark.parametrize("header", [{"x-lamina-user": "bob"}, {"x-lamina-user": "bob", "x-lamina-session": "ann:2"}])
def test_a_key_of_a_user_is_not_for_another(service: Service, header: dict[str, str]) -> None:
    with pytest.raises(openai.PermissionDeniedError) as refused:
        service.say("ann", "What does Bob like?", **header)
    assert refused.value.code == "forbidden"
    assert service.upstream.requests == []


def test_a_session_of_another_is_as_if_it_were_not_there(service: Service) -> None:
    service.say("bob", "My locker is number 12", **{"x-lamina-session": "bob:1"})
    service.messages("default", "bob:1", 2)
    service.upstream.requests.clear()
    with pytest.raises(openai.NotFoundError) as refused:
        service.say("ann", "Which locker?", **{"x-lamina-session": "bob:1"})
    assert refused.value.code == "session_not_found"
    assert service.upstream.requests == []
    assert len(service.messages("default", "bob:1", 2)) == 2


def test_a_session_of_nobody_is_not_a_users_either(service: Service) -> None:
    service.say("everyone", "The code word is heron", **{"x-lamina-session": "open:1"})
    service.messages("default", "open:1", 2)
    with pytest.raises(openai.NotFoundError):
        service.say("ann", "What is the code word?", **{"x-lamina-session": "open:1"})


def test_the_same_words_of_two_keys_are_two_sessions(service: Service) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Exactly the same words"}]}
    sessions = [service.ask("POST", "/v1/chat/completions", who, json=body) for who in ("ann", "bob", "everyone")]
    assert len({answer.headers["x-lamina-session"] for answer in sessions}) == 3


def test_a_key_of_a_project_holds_no_conversations_and_one_that_reads_holds_none(service: Service) -> None:
    for who in ("web", "reader"):
        with pytest.raises(openai.PermissionDeniedError):
            service.say(who, "Hi")
    assert service.upstream.requests == []


@pytest.mark.parametrize("key", ["nonsense", f"lamina_{7:016x}_{7:064x}", "sk-upstream-0123456789abcdef"])
def test_no_other_key_opens_the_endpoint(service: Service, key: str) -> None:
    with (
        openai.OpenAI(base_url=f"{service.url}/v1", api_key=key, max_retries=0) as client,
        pytest.raises(openai.AuthenticationError) as refused,
    ):
        client.models.list()
    assert key not in str(refused.value)
    assert service.upstream.requests == []


def test_a_revoked_key_does_not_either(service: Service) -> None:
    service.keys["gone"] = service.run(lambda app: app.keys.create("gone")).secret
    service.say("gone", "Hi")
    service.run(lambda app: app.keys.revoke(service.keys["gone"]))
    with pytest.raises(openai.AuthenticationError, match="revoked"):
        service.say("gone", "Hi")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/chat/completions"),
        ("GET", "/v1/chat/completions/chatcmpl-1/messages"),
        ("DELETE", "/v1/chat/completions/chatcmpl-1"),
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/models/ft:mine"),
    ],
)
def test_what_others_keep_at_the_upstream_is_out_of_reach(service: Service, method: str, path: str) -> None:
    answer = service.ask(method, path, "admin")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "shared_account")
    assert service.upstream.headers == []
