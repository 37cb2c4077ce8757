"""The documentation that the service has of itself: its OpenAPI document, and a page of it. Nothing is fetched."""

import asyncio
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from lamina.api.answer import answer
from lamina.server.openapi import finished
from lamina.server.reading import as_text, chapters

DESCRIPTION: Final = (
    "The memory and context layer for LLM agents. Keys are sent as `Authorization: Bearer` or `X-API-Key`; without any "
    "key in the store, programs of this machine need none. Every error is an object under `error`, with a code for "
    "programs and a sentence for people. Beside this API, `/mcp` speaks MCP and `/v1/chat/completions`, "
    "`/v1/responses`, `/v1/models` and `/v1/embeddings` speak OpenAI's protocol."
)
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
_TEMPLATE: Final = Path(__file__).parent / "reference.html"


def documentation(service: FastAPI) -> list[Route]:
    """`/openapi.json` and `/docs`. Both are made once, when somebody asks, and away from the event loop."""

    @cache
    def document() -> dict[str, Any]:
        return finished(service.openapi())

    @cache
    def openapi() -> Response:
        return answer(document())

    @cache
    def page() -> Response:
        return HTMLResponse(_rendered(document()), headers={"content-security-policy": _POLICY})

    async def get_openapi(request: Request) -> Response:
        return await asyncio.to_thread(openapi)

    async def get_docs(request: Request) -> Response:
        return await asyncio.to_thread(page)

    return [
        Route("/openapi.json", get_openapi, methods=["GET"], include_in_schema=False),
        Route("/docs", get_docs, methods=["GET"], include_in_schema=False),
    ]


def _rendered(document: dict[str, Any]) -> str:
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_TEMPLATE.read_text("utf-8"))
    info = document["info"]
    return template.render(info=info, introduction=as_text(info["description"]), chapters=chapters(document))
