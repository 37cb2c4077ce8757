"""The service documents itself: an OpenAPI document that is true, and a page of it that loads nothing."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.server.served import Served, service_on

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with service_on(f"sqlite:///{tmp_path_factory.mktemp('docs') / 'lamina.db'}") as one:
        yield one


@pytest.fixture(scope="module")
async def document(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = (await served.http.get("/openapi.json")).json()
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


def resolved(document: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """What a reference stands for."""
    if "$ref" not in item:
        return item
    found: Any = document
    for step in item["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return dict(found)


async def test_every_operation_says_what_it_does(document: dict[str, Any]) -> None:
    found = list(operations(document))
    assert len(found) > 50
    for _, path, operation in found:
        assert operation["summary"], path
        assert operation["description"], path
        assert operation["tags"], path


async def test_operations_are_named_after_what_they_do(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)
    assert {"add_memory", "search_memories", "save_knowledge", "run_skill", "create_key", "healthz"} <= set(names)


async def test_every_example_is_what_its_schema_allows(document: dict[str, Any]) -> None:
    checked = 0
    for _, path, operation in operations(document):
        parts = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (one for part in parts for one in resolved(document, part).get("content", {}).values()):
            if "schema" not in content:
                continue
            schema = {**content["schema"], "components": document["components"]}
            problems = list(jsonschema_rs.Draft202012Validator(schema).iter_errors(content["example"]))
            assert not problems, f"{path}: {problems[0].message}"
            checked += 1
    assert checked > 500


async def test_errors_are_documented_in_one_form(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        if path.startswith("/v1/"):
            assert {"400", "401", "403", "429", "503", "504"} <= set(operation["responses"]), path
        assert "422" not in operation["responses"], path
    assert "HTTPValidationError" not in document["components"]["schemas"]


async def test_every_write_takes_an_idempotency_key_unless_its_answer_is_secret(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        names = {resolved(document, one)["name"] for one in operation.get("parameters", ())}
        reads = method == "get" or path.endswith(("/search", "/recall")) or path.startswith("/v1/context/")
        assert ("Idempotency-Key" in names) == (not reads and not path.startswith(("/v1/keys", "/v1/import"))), path


async def test_the_page_has_every_operation_and_loads_nothing(served: Served, document: dict[str, Any]) -> None:
    page = await served.http.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for _, _, operation in operations(document):
        assert f'<section id="{operation["operationId"]}">' in page.text
    assert "<script" not in page.text
    assert not re.findall(r"""(?:src|url)\s*[=(]""", page.text)
    assert set(re.findall(r'href="([^#"]*)', page.text)) == {"", "/openapi.json"}


async def test_the_page_shows_a_request_as_one_could_type_it(served: Served) -> None:
    page = (await served.http.get("/docs")).text
    assert "curl -s http://127.0.0.1:7077/v1/memories/search" in page
    assert "curl -s -X DELETE" in page
