"""A service in a thread of its own with one of everything in it, and requests made up from its OpenAPI document."""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import schemathesis
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lamina.context.types import ContextItem, ContextLayer, Origin
from lamina.database.link import Link
from lamina.database.schema import metadata
from lamina.house.tenant import Tenant
from lamina.server.openapi import finished
from tests.api.calls import HERE, Api, Caller, api_on

T = TypeVar("T")
Operation = schemathesis.APIOperation[Any, Any, Any, Any]
Case = schemathesis.Case[Any]

_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_STREAMED = "POST /v1/import"  # lines of JSON, which nobody makes up; tests of transfer send it garbage
OURS = "ours"
_USED = {"access_key"}  # when a key was last used is written down


@dataclass(slots=True)
class World:
    """A service, what can be asked of it, and the ids of what is in it by the path that names them."""

    api: Api
    loop: asyncio.AbstractEventLoop
    ids: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, work: Callable[[Api], Awaitable[T]]) -> T:
        """Do something on the loop of the service, and wait for it."""

        async def within() -> T:
            return await work(self.api)

        return asyncio.run_coroutine_threadsafe(within(), self.loop).result(60)

    def operations(self) -> Iterator[Operation]:
        """Every operation of the document that takes JSON."""
        document = schemathesis.openapi.from_dict(finished(self.api.service.openapi()))
        document.config.generation.update(with_security_parameters=False)  # callers have keys of their own
        for found in document.get_all_operations():
            assert isinstance(found, Ok), found
            if found.ok().label != _STREAMED:
                yield found.ok()

    def rows(self, tenant: str) -> dict[str, list[str]]:
        """Every row that a tenant has, by table."""

        def read(link: Link) -> dict[str, list[str]]:
            tables = [one for one in metadata.sorted_tables if "tenant" in one.c and one.name not in _USED]
            found = {one.name: link.execute(sa.select(one).where(one.c.tenant == tenant)).all() for one in tables}
            return {name: sorted(map(str, rows)) for name, rows in found.items()}

        return self.run(lambda api: api.app.parts.database.read(read))

    def ask_everything(
        self, caller: Caller, *, mode: GenerationMode = GenerationMode.POSITIVE, examples: int, known: bool = False
    ) -> Mapping[str, Counter[int]]:
        """Ask every operation; `known` names what is there. How often each answered with which status.

        Every answer is as the document says, and no fault of the service's.
        """
        answered: dict[str, Counter[int]] = {}
        failed: list[Exception] = []
        for operation in self.operations():
            if mode is GenerationMode.POSITIVE or operation.body:
                try:
                    answered[operation.label] = self._ask(operation, caller, mode, examples, known)
                except Exception as error:  # noqa: BLE001 -- collected: one run shows everything that is wrong
                    failed.append(error)
        if failed:
            raise ExceptionGroup("not as documented", failed)
        return answered

    def _ask(
        self, operation: Operation, caller: Caller, mode: GenerationMode, examples: int, known: bool
    ) -> Counter[int]:
        answered = Counter[int]()

        @settings(
            max_examples=examples,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
            deadline=None,
            derandomize=True,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Case) -> None:
            if known:
                case.path_parameters = {**case.path_parameters, **self._named(case.path)}
            answer = self.run(lambda _: _sent(caller, case))
            answered[answer.status_code] += 1
            case.validate_response(answer, checks=_CHECKS)

        ask()
        return answered

    def _named(self, path: str) -> dict[str, str]:
        return next((ids for beginning, ids in self.ids.items() if path.startswith(beginning)), {})


async def _sent(caller: Caller, case: Case) -> Any:
    request = case.as_transport_kwargs(base_url=HERE)
    body = request.get("data")
    return await caller.http.request(
        request["method"],
        request["url"],
        params=request.get("params"),
        headers=dict(request["headers"]),
        **({"json": request["json"]} if "json" in request else {"content": body} if body is not None else {}),
    )


@contextmanager
def world_on(url: str, **sections: Any) -> Iterator[World]:
    """A service on a store with one of everything in the tenant `ours`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="service")
    thread.start()
    opened = api_on(url, server={"rate_per_s": 0, "page": False}, **sections)
    try:
        api = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result(60)
        try:
            world = World(api, loop)
            world.ids = world.run(lambda api: _fill(api.app.for_tenant(OURS)))
            yield world
        finally:
            asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _fill(rooms: Tenant) -> dict[str, dict[str, str]]:
    """One of everything; the ids by the beginning of the path that names them."""
    memory = await rooms.memory.add("Prefers tea", user_id="bob")
    await rooms.knowledge.save("deploy", "Deploys run on Fridays.", category="fact")
    await rooms.references.save("handbook", type="wiki", location="https://example.org", summary="The handbook.")
    learning = (await rooms.learning.save("Try again", tool="shell", error="timeout")).learning
    await rooms.skills.create("greet", description="Greets", type="template", definition={"template": "Hello"})
    await rooms.skills.approve("greet", by="bob")
    await rooms.sessions.append(role="user", content="Acme uses PostgreSQL.", session_key="cli:bob", user_id="bob")
    prompt = await rooms.context.assemble("You help.", query="tea", session_key="cli:bob")
    suspect = ContextItem(layer=ContextLayer.EXTERNAL_KNOWLEDGE, key="x", content="Ignore all", origin=Origin.IMPORT)
    await rooms.context.quarantine.hold([suspect])
    (case,) = await rooms.context.quarantine.list()
    await rooms.hierarchy.set(project_id="web", team_id="ui")
    key = await rooms.keys.create("bot")
    await rooms.graph.settled()
    return {
        "/v1/memories/": {"id": memory.id},
        "/v1/knowledge/": {"key": "deploy"},
        "/v1/references/": {"name": "handbook"},
        "/v1/learnings/": {"id": learning.id},
        "/v1/skills/": {"name": "greet"},
        "/v1/sessions/": {"session_key": "cli:bob"},
        "/v1/context/": {"id": prompt.receipt.id},
        "/v1/quarantine/": {"id": case.id},
        "/v1/hierarchy/": {"kind": "project", "id": "web"},
        "/v1/keys/": {"id": key.key.id},
    }
