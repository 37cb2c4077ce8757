"""What every request meets, whichever door it wants: ids, headers, errors, health, the endpoint, MCP."""

import json
import logging
from collections.abc import AsyncIterator, Iterator
from io import StringIO
from pathlib import Path

import pytest

from lamina.access.types import Right
from lamina.errors import ProviderError
from lamina.memory.service import MemoryService
from lamina.observability.logging import configure_logging
from tests.server.served import ASKED, FACT, Served, service_on

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with service_on(f"sqlite:///{tmp_path_factory.mktemp('service') / 'lamina.db'}", server={"mcp": True}) as one:
        yield one


@pytest.fixture
def log() -> Iterator[StringIO]:
    """What the service logs, as JSON lines."""
    logger = logging.getLogger("lamina")
    before = (list(logger.handlers), logger.level, logger.propagate)
    stream = StringIO()
    configure_logging("info", "json", stream=stream)
    yield stream
    logger.handlers[:], logger.level, logger.propagate = before


async def test_it_lives_and_is_ready(served: Served) -> None:
    assert (await served.http.get("/healthz")).json() == {"status": "alive"}
    ready = await served.http.get("/readyz")
    assert (ready.status_code, ready.json()["store"]) == (200, "ok")


async def test_it_is_not_ready_while_the_store_cannot_be_reached(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: object) -> None:
        raise ProviderError("gone")

    monkeypatch.setattr(served.app.parts.database, "read", fails)
    ready = await served.http.get("/readyz")
    assert (ready.status_code, ready.json()["status"], ready.json()["store"]) == (503, "not_ready", "PROVIDER_ERROR")
    assert (await served.http.get("/healthz")).status_code == 200


async def test_it_is_not_ready_once_its_file_was_moved_away(tmp_path: Path) -> None:
    path = tmp_path / "lamina.db"
    async with service_on(f"sqlite:///{path}") as served:
        assert (await served.http.get("/readyz")).status_code == 200
        path.rename(tmp_path / "elsewhere.db")
        ready = await served.http.get("/readyz")
        assert (ready.status_code, ready.json()["store"]) == (503, "CONFIGURATION_ERROR")
        assert (await served.app.parts.provider.health_check()).status == "unhealthy"
        (tmp_path / "elsewhere.db").rename(path)
        assert (await served.http.get("/readyz")).status_code == 200


async def test_it_is_not_ready_on_tables_of_another_version(served: Served) -> None:
    database = served.app.parts.database
    found = (await served.http.get("/readyz")).json()["schema_version"]
    await database.write(lambda link: link.raw.execute("UPDATE alembic_version SET version_num = '0001'"))
    try:
        ready = await served.http.get("/readyz")
    finally:
        await database.write(lambda link: link.raw.execute(f"UPDATE alembic_version SET version_num = '{found}'"))
    assert (ready.status_code, ready.json()["schema_version"]) == (503, "0001")


async def test_metrics_have_the_names_of_the_specification(served: Served) -> None:
    await served.http.post("/v1/memories/search", json=ASKED)
    page = await served.http.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    assert 'memory_operations_total{operation="search",status="ok"}' in page.text
    assert 'memory_operations_total{operation="http_request",status="ok"}' in page.text


async def test_a_request_keeps_the_id_it_came_with(served: Served) -> None:
    answer = await served.http.get("/healthz", headers={"x-request-id": "r-1"})
    assert answer.headers["x-request-id"] == "r-1"


async def test_a_request_without_a_sane_id_gets_one_of_its_own(served: Served) -> None:
    sent = [{}, {}, {"x-request-id": "a b"}, {"x-request-id": "a" * 200}]
    ids = [(await served.http.get("/healthz", headers=one)).headers["x-request-id"] for one in sent]
    assert len(set(ids)) == 4
    assert not set(ids) & {"a b", "a" * 200}


async def test_every_line_of_the_log_names_its_request(served: Served, log: StringIO) -> None:
    await served.http.post("/v1/memories/search", json=ASKED, headers={"x-request-id": "r-2"})
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["request_id"] for line in lines] == ["r-2"]
    assert lines[0]["message"].startswith("POST /v1/memories/search 200 in ")


async def test_a_fault_of_ours_is_logged_and_tells_nothing_of_the_inside(
    served: Served, log: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr(MemoryService, "search", breaks)
    answer = await served.http.post("/v1/memories/search", json=ASKED, headers={"x-request-id": "r-3"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert answer.headers["x-request-id"] == "r-3"
    assert "inside" not in answer.text
    fault = next(line for line in map(json.loads, log.getvalue().splitlines()) if line["level"] == "error")
    assert fault["request_id"] == "r-3"
    assert "the inside" in fault["exception"]
    assert served.errors()["RuntimeError"] == 1


async def test_browsers_are_told_to_be_careful(served: Served) -> None:
    headers = (await served.http.post("/v1/memories/search", json=ASKED)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/attic", 404, "NOT_FOUND"),
        ("GET", "/v1/memories/", 404, "NOT_FOUND"),
        ("PUT", "/v1/memories", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/mcp", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/", 404, "NOT_FOUND"),
    ],
)
async def test_what_is_not_there_is_an_error_object_too(
    served: Served, method: str, path: str, status: int, code: str
) -> None:
    answer = await served.http.request(method, path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize("body", [b"{", b"", b"[]", b'"text"', b"\xff", b'{"query": "\\ud800"}', b"[" * 100_000])
async def test_a_body_that_is_none_is_refused(served: Served, body: bytes) -> None:
    answer = await served.http.post("/v1/memories/search", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_INPUT")


async def test_a_body_without_its_content_type_is_told_what_to_send(served: Served) -> None:
    answer = await served.http.post("/v1/memories/search", content=json.dumps(ASKED))
    assert answer.status_code == 400
    assert "Content-Type: application/json" in answer.json()["error"]["message"]


async def test_a_body_that_breaks_off_is_told_where(served: Served) -> None:
    headers = {"content-type": "application/json"}
    answer = await served.http.post("/v1/memories/search", content=b'{"query": ', headers=headers)
    error = answer.json()["error"]
    assert error["message"] == "The body is not valid JSON: expecting value, at character 10."
    assert error["details"]["problems"] == [{"field": "", "message": error["message"]}]


async def test_another_place_s_page_is_not_let_in(served: Served) -> None:
    for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
        answer = await served.http.post("/v1/memories/search", json=ASKED, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
        assert "access-control-allow-origin" not in answer.headers
    asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    assert (await served.http.options("/v1/memories/search", headers=asked)).status_code == 405


async def test_without_an_upstream_the_endpoint_says_what_to_set(served: Served) -> None:
    for path in ("/v1/chat/completions", "/v1/responses"):
        answer = await served.http.post(path, json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_upstream")
        assert "proxy.upstream" in answer.json()["error"]["message"]
    assert (await served.http.get("/v1/models")).status_code == 503


async def test_without_an_upstream_texts_are_embedded_all_the_same(served: Served) -> None:
    answer = await served.http.post("/v1/embeddings", json={"model": "m", "input": ["dark", "light"]})
    assert [len(one["embedding"]) for one in answer.json()["data"]] == [256, 256]


async def test_where_a_key_exists_every_door_asks_for_one(tmp_path: Path) -> None:
    async with service_on(f"sqlite:///{tmp_path / 'lamina.db'}", server={"mcp": True}) as served:
        mine = await served.key()
        for method, path in (
            ("POST", "/v1/memories"),
            ("GET", "/metrics"),
            ("POST", "/mcp"),
            ("POST", "/v1/chat/completions"),
            ("POST", "/v1/embeddings"),
        ):
            for headers in ({}, {"authorization": "Bearer lamina_guess"}, {"x-api-key": "guess"}):
                answer = await served.http.request(method, path, headers=headers, json=FACT)
                assert answer.status_code == 401, path
        assert (await served.http.post("/v1/memories", json=FACT, headers=mine)).status_code == 201
        for open_path in ("/healthz", "/readyz", "/openapi.json", "/docs"):
            assert (await served.http.get(open_path)).status_code == 200


async def test_metrics_are_for_the_configured_tenant_s_own_keys(tmp_path: Path) -> None:
    async with service_on(f"sqlite:///{tmp_path / 'lamina.db'}") as served:
        reader = await served.key(Right.READ)
        assert (await served.http.get("/metrics", headers=reader)).status_code == 200
        for refused in (await served.key(Right.ADMIN, tenant="acme"), await served.key(Right.ADMIN, user_id="ann")):
            assert (await served.http.get("/metrics", headers=refused)).status_code == 403


async def test_a_place_that_was_named_may_call_from_a_browser(tmp_path: Path) -> None:
    origin = "https://app.example"
    async with service_on(f"sqlite:///{tmp_path / 'lamina.db'}", server={"cors_origins": [origin]}) as served:
        asked = {"origin": origin, "access-control-request-method": "POST"}
        allowed = await served.http.options("/v1/memories/search", headers=asked)
        assert allowed.headers["access-control-allow-origin"] == origin
        answer = await served.http.post("/v1/memories/search", json=ASKED, headers={"origin": origin})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
        speaks_mcp = {**asked, "access-control-request-headers": "mcp-protocol-version, x-lamina-user"}
        assert (await served.http.options("/mcp", headers=speaks_mcp)).status_code == 200
        other = await served.http.options("/v1/memories/search", headers={**asked, "origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
