"""Puts the page on the service: NiceGUI is set up once a process, each service gets its own door to it."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import nicegui
from fastapi import FastAPI
from nicegui import ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from lamina.access.gate import Gate
from lamina.app import App
from lamina.errors import LaminaError
from lamina.page import login, shell
from lamina.page.assets import STATIC, asset
from lamina.page.door import Door
from lamina.page.pages import PAGES
from lamina.page.wall import Wall


def mount_page(service: FastAPI, app: App, gate: Gate) -> None:
    """Serve the page at `/`, after everything that the service has routes for already. Pages open with the service.

    NiceGUI has one state a process, so one service a process runs a page at a time.
    """
    stage = _stage()
    service.mount("/", Wall(stage, Door(app=app, gate=gate), frozenset(page.path for page in PAGES)))
    inner = service.router.lifespan_context

    @asynccontextmanager
    async def with_page(service: FastAPI) -> AsyncIterator[Any]:
        async with stage.router.lifespan_context(stage), inner(service) as state:
            yield state

    service.router.lifespan_context = with_page


@cache
def _stage() -> FastAPI:
    """NiceGUI's application with the pages on it, and what they need beside it."""
    style = asset("lamina.css")
    stage = FastAPI(openapi_url=None)
    stage.mount("/_page", StaticFiles(directory=STATIC))
    stage.router.routes.extend(login.routes(style, f"/_nicegui/{nicegui.__version__}/static/fonts.css"))
    logging.getLogger("nicegui").addFilter(_is_surprise)
    ui.run_with(
        stage,
        title="Lamina",
        favicon=STATIC / "lamina.svg",
        dark=None,
        language="en-US",
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=30,  # a laptop that was shut for a moment finds what was typed
        show_welcome_message=False,
    )
    nicegui.app.add_exception_handler(404, _absent)
    for page in PAGES:
        shell.register(page, PAGES, style=style, script=asset("lamina.js"))
    return stage


async def _absent(request: Request, error: Exception) -> Response:
    """What is not there is no page: NiceGUI would draw one, and keep it, for whoever asks."""
    return PlainTextResponse("Not Found", status_code=404)


def _is_surprise(record: logging.LogRecord) -> bool:
    """Whether a record is news: Lamina's own errors are shown to the person who met them."""
    return not isinstance(record.msg, LaminaError)
