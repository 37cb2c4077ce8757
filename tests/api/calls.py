"""Callers of the service in this process. Every answer is held against what the OpenAPI document says of it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import jsonschema_rs
from fastapi import FastAPI

from lamina.access.types import Right
from lamina.app import App
from lamina.config import Settings
from lamina.house.tenant import Tenant
from lamina.kernel.clock import Clock
from lamina.memory.types import IdentifierArguments
from lamina.server.openapi import finished
from lamina.server.service import create_service
from tests.stores import static_embedder

HERE = "http://127.0.0.1:7077"
EVERYTHING_ON: Mapping[str, Any] = {
    "knowledge": {"enabled": True},
    "graph": {"enabled": True},
    "observational_memory": {"enabled": True, "message_token_threshold": 20, "retained_tail_tokens": 0},
    "context": {"store_receipts": True},
    "session": {"max_message_length": 10_000, "graph": True},
    "memory": {"sweep_interval_s": 0},
}


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back: `answered["field"]` of its document, or the whole of it."""

    status: int
    headers: httpx2.Headers
    document: Any

    def __getitem__(self, name: str) -> Any:
        return self.document[name]

    @property
    def error(self) -> str:
        """The code of the error it is."""
        return str(self.document["error"]["code"])


class Caller:
    """Somebody with a key, or without one."""

    def __init__(self, service: FastAPI, rooms: Tenant, *, secret: str = "") -> None:
        """Nobody in particular without a secret; `rooms` are those of the tenant the key is of."""
        self._service = service
        self._operation = ""
        self.rooms = rooms
        headers = {"authorization": f"Bearer {secret}"} if secret else {}
        self.secret = secret
        self.http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=self._ask), base_url=HERE, headers=headers, timeout=60
        )

    async def get(self, path: str, *, status: int = 200, **params: Any) -> Answered:
        return await self.call("GET", path, status=status, params=params)

    async def post(self, path: str, *, status: int = 200, **body: Any) -> Answered:
        return await self.call("POST", path, status=status, json=body)

    async def put(self, path: str, *, status: int = 200, **body: Any) -> Answered:
        return await self.call("PUT", path, status=status, json=body)

    async def patch(self, path: str, *, status: int = 200, **body: Any) -> Answered:
        return await self.call("PATCH", path, status=status, json=body)

    async def delete(self, path: str, *, status: int = 200, **params: Any) -> Answered:
        return await self.call("DELETE", path, status=status, params=params)

    async def call(self, method: str, path: str, *, status: int = 200, **options: Any) -> Answered:
        """A request to a path below /v1; the answer must have this status and be what is documented."""
        answer = await self.http.request(method, f"/v1{path}", **options)
        assert answer.status_code == status, answer.text
        document = answer.json()
        if self._operation:
            check_documented(self._service, self._operation, status, document)
        return Answered(status, answer.headers, document)

    async def _ask(self, scope: Any, receive: Any, send: Any) -> None:
        """The service, and which of its routes answered."""
        await self._service(scope, receive, send)
        self._operation = getattr(scope.get("route"), "name", "")


class Api:
    """The service of an open app, without a network between."""

    def __init__(self, app: App, stack: AsyncExitStack) -> None:
        self.app = app
        self.service = create_service(app)
        self._stack = stack

    async def caller(self, secret: str = "", *, tenant: str = "default") -> Caller:
        """Somebody who sends this key."""
        caller = Caller(self.service, self.app.for_tenant(tenant), secret=secret)
        await self._stack.enter_async_context(caller.http)
        return caller

    async def bearer(
        self, tenant: str, *, right: Right = Right.ADMIN, whose: IdentifierArguments | None = None
    ) -> Caller:
        """Somebody with a new key of a tenant."""
        made = await self.app.for_tenant(tenant).keys.create("test", right=right, **(whose or {}))
        return await self.caller(made.secret, tenant=tenant)


Bearers = Callable[..., Awaitable[Caller]]
"""Makes somebody with a key of the test's tenant: `await bearer(Right.READ, user_id="ann")`."""

_DOCUMENT: dict[str, Any] = {}  # the same for every service, and it takes a while to write


def check_documented(service: FastAPI, operation: str, status: int, document: object) -> None:
    """Hold an answer against what the OpenAPI document says of an operation."""
    if not _DOCUMENT:
        _DOCUMENT.update(finished(service.openapi()))
    operations = (one for path in _DOCUMENT["paths"].values() for one in path.values())
    found = next(one["responses"] for one in operations if one["operationId"] == operation)
    assert str(status) in found, f"{operation} does not document {status}"
    described = found[str(status)]
    if "$ref" in described:
        described = _DOCUMENT["components"]["responses"][described["$ref"].rpartition("/")[2]]
    schema = described["content"]["application/json"]["schema"]
    checked = {**schema, "components": _DOCUMENT["components"]}
    jsonschema_rs.Draft202012Validator(checked, validate_formats=True).validate(document)


@asynccontextmanager
async def api_on(url: str, *, clock: Clock | None = None, **sections: Any) -> AsyncIterator[Api]:
    """The service on a store, everything switched on."""
    settings = Settings.model_validate({"database": {"url": url}, **EVERYTHING_ON, **sections})
    async with AsyncExitStack() as stack:
        app = App(settings, embedder=static_embedder(), clock=clock, environ={}, observing=False)
        yield Api(await stack.enter_async_context(app), stack)
