"""The Tool Registry layer."""

import pytest

from lamina.context.tools import ToolDescriptor, ToolRegistryAdapter, describe, tool_item
from lamina.context.types import ContextLayer, Origin
from lamina.errors import InvalidInputError
from tests.stores import CountingEmbedder, static_embedder

pytestmark = pytest.mark.anyio

TOOLS = [
    ToolDescriptor(name="deploy_app", description="Ship the web application to production."),
    ToolDescriptor(name="sendMail", description="Send an e-mail, for instance about a deploy."),
    ToolDescriptor(name="weather", description="Forecast for any city."),
    ToolDescriptor(name="HTTPGet", description="Fetch a page."),
]


async def names(query: str, limit: int = 0, **rest: object) -> list[str]:
    """The names of the tools that serve a query, best first."""
    return [match.name for match in await ToolRegistryAdapter(TOOLS, **rest).search_tools(query, limit)]  # type: ignore[arg-type]


@pytest.mark.requirement("context.tools.list")
def test_all_tools_are_listed_in_the_order_given() -> None:
    assert list(ToolRegistryAdapter(TOOLS).list_tools()) == TOOLS


@pytest.mark.requirement("context.tools.search", "context.tools.case-insensitive")
@pytest.mark.parametrize("query", ["weather", "WEATHER", "Forecast", "weath", "forecas"])
async def test_a_tool_is_found_by_its_name_or_description_in_any_case_and_by_a_part(query: str) -> None:
    assert await names(query) == ["weather"]


@pytest.mark.requirement("context.tools.search")
async def test_there_are_at_most_so_many_results() -> None:
    assert len(await names("deploy mail weather page", 2)) == 2
    assert len(await names("deploy mail weather page", 0)) == 4


async def test_any_keyword_is_a_match_and_the_name_counts_more() -> None:
    assert await names("deploy something for me") == ["deploy_app", "sendMail"]


async def test_more_and_rarer_keywords_rank_first() -> None:
    assert (await names("send a mail about the weather forecast of a city"))[0] == "weather"


@pytest.mark.parametrize(("query", "name"), [("mail", "sendMail"), ("http", "HTTPGet"), ("app", "deploy_app")])
async def test_the_words_inside_a_name_are_words(query: str, name: str) -> None:
    assert (await names(query))[0] == name


async def test_meaning_finds_what_words_do_not() -> None:
    query = "will it rain in Paris tomorrow?"
    assert await names(query) == []
    assert (await names(query, embedder=static_embedder()))[0] == "weather"


async def test_a_query_without_keywords_or_a_registry_without_tools_finds_nothing() -> None:
    assert await names("the of") == []
    assert await ToolRegistryAdapter([]).search_tools("deploy", 5) == ()


@pytest.mark.requirement("context.tools.boundary-copy")
async def test_what_happens_to_the_list_afterwards_does_not_matter() -> None:
    given = list(TOOLS)
    adapter = ToolRegistryAdapter(given)
    given.clear()
    given.append(ToolDescriptor(name="evil", description="weather"))
    assert [tool.name for tool in adapter.list_tools()] == [tool.name for tool in TOOLS]
    assert [match.name for match in await adapter.search_tools("weather", 5)] == ["weather"]
    assert isinstance(adapter.list_tools(), tuple)


async def test_tools_are_embedded_once() -> None:
    embedder = CountingEmbedder()
    adapter = ToolRegistryAdapter(TOOLS, embedder=embedder)
    for _ in range(3):
        await adapter.search_tools("weather", 5)
    assert len(embedder.texts) == len(TOOLS) + 3


def test_a_function_describes_itself() -> None:
    def deploy(target: str) -> None:
        """Deploy to
        a target.

        More about it.
        """

    assert describe(deploy) == ToolDescriptor(name="deploy", description="Deploy to a target.")
    assert describe(TOOLS[0]) is TOOLS[0]


def test_what_has_no_name_is_no_tool() -> None:
    with pytest.raises(InvalidInputError, match="name"):
        describe(object())  # type: ignore[arg-type]


async def test_the_description_of_a_foreign_tool_keeps_its_origin() -> None:
    foreign = ToolDescriptor(name="x", description="Weather.", origin=Origin.IMPORT)
    (match,) = await ToolRegistryAdapter([foreign]).search_tools("weather", 5)
    one = tool_item(match)
    assert (one.layer, one.origin, one.key) == (ContextLayer.TOOL_REGISTRY, Origin.IMPORT, "x")
