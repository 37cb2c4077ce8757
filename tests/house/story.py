"""The demo's story as a store and as an export, told once for every module that asks."""

import json
from pathlib import Path
from typing import Any

from lamina.app import App
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.demo.settings import demo_settings
from lamina.house.transfer import TenantTransfer
from lamina.observability.metrics import Metrics
from tests.stores import static_embedder


def settings_of(url: str | Path) -> Settings:
    return Settings(database=DatabaseSettings(url=str(url)))


def opened(url: str | Path, **more: Any) -> App:
    """An app with every room open, in which nothing happens by itself."""
    return App(demo_settings(settings_of(url)), embedder=static_embedder(), metrics=Metrics(), observing=False, **more)


def transfer(app: App, tenant: str = "default") -> TenantTransfer:
    return app.for_tenant(tenant).transfer


async def exported(app: App, tenant: str = "default", **more: Any) -> list[bytes]:
    return [line async for line in transfer(app, tenant).export_lines(**more)]


def plain(lines: list[bytes]) -> list[Any]:
    """The objects of lines: PostgreSQL has an order of its own for the fields of stored objects."""
    return [json.loads(line) for line in lines]


def of_kind(lines: list[bytes], kind: str) -> list[dict[str, Any]]:
    """The records of a kind."""
    return [record[kind] for record in plain(lines)[1:] if list(record) == [kind]]
