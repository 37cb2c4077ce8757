"""Every setting of context changes what happens, and a wrong one is refused."""

from typing import Any

import pytest

from lamina.app import App
from lamina.config import load_settings
from lamina.context.settings import ContextSettings
from lamina.context.tools import ToolDescriptor
from lamina.context.types import ContextLayer, Semantic
from lamina.errors import ConfigurationError
from tests.context.opening import context_app

pytestmark = pytest.mark.anyio

BASE = "You are a helpful agent."


async def layers(app: App, query: str) -> set[str]:
    """The layers with items in the prompt of a small store."""
    await app.knowledge.save("rule", "Never deploy the web app on a Friday evening", category="rule", origin="user")
    await app.memory.add("Likes to deploy the web app from the terminal", layer="user", user_id="u1")
    tools = [ToolDescriptor(name="ship", description="Deploy the web app."), ToolDescriptor(name="mail")]
    prompt = await app.context.with_tools(tools).assemble(BASE, query=query, user_id="u1")
    return {one.layer.value for one in prompt.receipt.injected}


@pytest.mark.parametrize(
    ("setting", "layer"),
    [
        ({"threshold": 1.0}, ContextLayer.USER_KNOWLEDGE),
        ({"tool_threshold": 1.0}, ContextLayer.TOOL_REGISTRY),
        ({"memory_threshold": 1.0}, Semantic.MEMORY),
    ],
)
async def test_a_threshold_decides_what_is_relevant_enough(
    sqlite_url: str, setting: dict[str, Any], layer: ContextLayer | Semantic
) -> None:
    query = "what about the evening and the terminal, shall I deploy something else or write a poem?"
    low: dict[str, Any] = {"threshold": 0.0, "tool_threshold": 0.0, "memory_threshold": 0.0}
    async with context_app(sqlite_url, **low) as app:
        assert layer.value in await layers(app, query)
    async with context_app(sqlite_url, **{**low, **setting}) as app:
        assert layer.value not in await layers(app, query)


async def test_the_budget_and_the_longest_query_are_settings(sqlite_url: str) -> None:
    async with context_app(sqlite_url, budget_tokens=1) as app:
        assert await layers(app, "deploy the web app") == set()
    async with context_app(sqlite_url, max_query_length=10) as app:
        middle = "poems " * 20 + "deploy the web app" + " poems" * 20
        assert await layers(app, middle) == {"runtime_context"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_per_layer": 0},
        {"max_query_length": 0},
        {"threshold": 1.5},
        {"tool_threshold": -0.1},
        {"memory_threshold": 2},
        {"deadline_s": -1},
        {"turn_deadline_s": -1},
        {"budget_tokens": -1},
        {"keep_receipts": -1},
        {"suspicious": "shout"},
    ],
)
def test_a_wrong_value_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="context"):
        load_settings(environ={}, context=wrong)


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = ContextSettings()
    assert (settings.max_per_layer, settings.suspicious, settings.store_receipts) == (5, "mark", False)
