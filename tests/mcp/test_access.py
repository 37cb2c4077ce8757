"""Who may do what over HTTP: keys, rights, bound keys, other tenants, pages of other places."""

import json
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from lamina.access.types import Right
from tests.mcp.served import Served, called, refused, served

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


async def posted(house: Served, key: str | None = None, **headers: str) -> httpx2.Response:
    """The answer to a bare request."""
    async with house.http(key, **headers) as http:
        return await http.post(house.url, json=LIST, headers=ACCEPT)


def listed(response: httpx2.Response) -> set[str]:
    """The names of the tools in an answer, which is a stream of one event."""
    (data,) = [line for line in response.text.splitlines() if line.startswith("data: ")]
    return {tool["name"] for tool in json.loads(data.removeprefix("data: "))["result"]["tools"]}


def error_in(response: httpx2.Response) -> dict[str, Any]:
    """The error object of the house in a refusal."""
    found: dict[str, Any] = response.json()["error"]["data"]["error"]
    return found


async def test_without_keys_this_machine_comes_in_and_pages_of_other_places_do_not(house: Served) -> None:
    assert (await posted(house)).status_code == 200
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"X_Forwarded_For": "10.0.0.1"}):
        response = await posted(house, **headers)
        assert response.status_code == 403
        assert error_in(response)["code"] == "FORBIDDEN"


async def test_with_keys_only_a_good_one_comes_in(house: Served) -> None:
    key = await house.key()
    id = (await house.app.keys.list())[0].id
    for bad in (None, "nonsense", key[:-1] + "x"):
        response = await posted(house, bad)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"
        assert error_in(response)["code"] == "UNAUTHORIZED"
        assert error_in(response)["next"]
    with pytest.raises(ExceptionGroup) as failed:
        async with house.client("nonsense"):
            pass
    assert "'code': 'UNAUTHORIZED'" in repr(failed.value)
    async with house.client(key) as client:
        await house.key()
        await house.app.keys.revoke(id)
        with pytest.raises(MCPError) as revoked:
            await client.call_tool("memory_list", {})
        assert revoked.value.data["error"]["code"] == "UNAUTHORIZED"


async def test_a_key_to_read_sees_no_tool_that_writes(house: Served) -> None:
    key = await house.key(Right.READ)
    async with house.client(key, X_Lamina_User="ann") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools.values())
        assert {"memory_search", "context_assemble", "session_recall", "skill_list"} <= set(tools)
        for name, arguments in WRITES.items():
            error = await refused(client, name, **arguments)
            assert (error["code"], error["operation"]) == ("FORBIDDEN", name)
        assert (await called(client, "memory_list"))["total_count"] == 0


WRITES: dict[str, dict[str, Any]] = {
    "memory_add": {"content": "x"},
    "memory_update": {"id": "x", "content": "y"},
    "memory_delete": {"id": "x"},
    "knowledge_save": {"key": "k", "content": "x", "category": "fact"},
    "learning_save": {"fix": "x", "trigger": "y"},
    "skill_create": {"name": "a", "description": "b", "type": "template", "definition": {"template": "c"}},
    "skill_run": {"name": "a"},
}


async def test_a_bound_key_is_for_one_user_and_changes_nothing_shared(house: Served) -> None:
    app = house.app
    bobs = (await app.memory.add("Bob drinks rum", user_id="bob")).id
    await app.sessions.append(role="user", content="Bob's secret berth", session_key="bobs", user_id="bob")
    await app.knowledge.save("quay", "The quay is closed", category="fact")
    key = await house.key(user_id="ann", project_id="harbour")
    async with house.client(key) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert not names & {"knowledge_save", "learning_save", "skill_create"}
        for name in ("knowledge_save", "learning_save", "skill_create"):
            assert (await refused(client, name, **WRITES[name]))["code"] == "FORBIDDEN"
        assert (await called(client, "knowledge_search", query="quay"))["results"][0]["key"] == "quay"
        mine = await called(client, "memory_add", content="Ann drinks tea")
        assert (await app.memory.get(mine["id"], user_id="ann")) is not None
        found = await called(client, "memory_search", query="Who drinks rum?", threshold=0)
        assert {one["id"] for one in found["results"]} == {mine["id"]}
        assert (await refused(client, "memory_get", id=bobs))["code"] == "MEMORY_NOT_FOUND"
        assert (await refused(client, "memory_update", id=bobs, content="x"))["code"] == "MEMORY_NOT_FOUND"
        await called(client, "memory_delete", id=bobs)
        assert await app.memory.get(bobs, user_id="bob") is not None
        assert (await client.list_resources()).resources == []
        assert (await called(client, "session_recall", query="secret berth"))["messages"] == []
        assert (await refused(client, "session_recall", query="x", session="bobs"))["code"] == "SESSION_NOT_FOUND"
        with pytest.raises(Exception, match="There is no session"):
            await client.read_resource("lamina://sessions/bobs/notes")


async def test_a_bound_key_does_not_speak_for_anybody_else(house: Served) -> None:
    key = await house.key(user_id="ann")
    await house.app.sessions.append(role="user", content="Bob's secret berth", session_key="bobs", user_id="bob")
    for headers in ({"X_Lamina_User": "bob"}, {"X_Lamina_Company": "acme"}):
        assert (await posted(house, key, **headers)).status_code == 403
    async with house.client(key, X_Lamina_Session="bobs") as client:
        for tool in ("context_assemble", "session_recall"):
            assert (await refused(client, tool, query="secret berth"))["code"] == "SESSION_NOT_FOUND"
        with pytest.raises(Exception, match="There is no session"):
            await client.get_prompt("context", {"query": "secret berth"})


async def test_a_bound_key_reads_the_levels_above_it_and_does_not_change_them(house: Served) -> None:
    memory = house.app.memory
    await house.app.hierarchy.set(project_id="harbour", team_id="quay", org_id="north", company_id="acme")
    rule = (await memory.add("Ships pay on arrival", layer="company", company_id="acme")).id
    key = await house.key(project_id="harbour")
    async with house.client(key) as client:
        assert (await called(client, "memory_get", id=rule))["layer"] == "company"
        for tool, arguments in (
            ("memory_add", {"content": "Ships pay nothing", "layer": "company"}),
            ("memory_update", {"id": rule, "content": "Ships pay nothing"}),
            ("memory_delete", {"id": rule}),
        ):
            assert (await refused(client, tool, **arguments))["code"] == "FORBIDDEN"
        await called(client, "memory_add", content="Nine berths", layer="project")
    kept = await memory.get(rule, company_id="acme")
    assert kept is not None
    assert kept.content == "Ships pay on arrival"


async def test_another_tenant_shares_nothing(house: Served) -> None:
    app = house.app
    id = (await app.memory.add("Ann drinks tea", user_id="ann")).id
    await app.sessions.append(role="user", content="Ann's berth", session_key="s1", user_id="ann")
    await app.knowledge.save("quay", "The quay is closed", category="fact")
    key = await house.key(Right.ADMIN, tenant="elsewhere")
    async with house.client(key, X_Lamina_User="ann", X_Lamina_Session="s1") as client:
        assert (await refused(client, "memory_get", id=id))["code"] == "MEMORY_NOT_FOUND"
        assert (await called(client, "memory_search", query="tea"))["total_count"] == 0
        assert (await called(client, "knowledge_search", query="quay"))["results"] == []
        assert (await client.list_resources()).resources == []
        assert (await refused(client, "session_recall", query="berth"))["code"] == "SESSION_NOT_FOUND"
        assert "quay" not in (await called(client, "context_assemble", query="What is closed?"))["prompt"]
        await called(client, "memory_delete", id=id)
        await called(client, "memory_add", content="Ann of elsewhere drinks rum")
    assert await app.memory.get(id, user_id="ann") is not None
    assert (await app.memory.list(user_id="ann")).total_count == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_no_session_of_the_transport_outlives_a_request(house: Served, mode: str) -> None:
    writer, reader = await house.key(), await house.key(Right.READ)
    first = await posted(house, writer)
    assert "mcp-session-id" not in first.headers
    assert "memory_add" in listed(first)
    borrowed = await posted(house, reader, Mcp_Session_Id="0" * 32)
    assert "memory_add" not in listed(borrowed)
    async with house.client(writer, mode=mode) as client:
        assert "memory_add" in {tool.name for tool in (await client.list_tools()).tools}


async def test_a_header_that_is_no_name_is_refused(house: Served) -> None:
    response = await posted(house, X_Lamina_User="x" * 2000)
    assert (response.status_code, error_in(response)["code"]) == (400, "INVALID_INPUT")


async def test_names_outside_of_latin_1_are_understood(house: Served) -> None:
    async with house.client() as client:
        assert client is not None
    async with httpx2.AsyncClient(headers=[(b"X-Lamina-User", "Žofie".encode())]) as http:
        call = {"name": "memory_add", "arguments": {"content": "Likes plums"}}
        await http.post(house.url, json={**LIST, "method": "tools/call", "params": call}, headers=ACCEPT)
    assert (await house.app.memory.list(user_id="Žofie")).total_count == 1


async def test_what_is_switched_off_is_not_offered_and_says_what_to_set(sqlite_store_url: str) -> None:
    async with served(sqlite_store_url, knowledge={"enabled": False}) as house, house.client() as client:
        names = {tool.name.partition("_")[0] for tool in (await client.list_tools()).tools}
        assert names == {"memory", "session", "context"}
        for tool, arguments in (("knowledge_search", {"query": "x"}), ("skill_list", {}), ("skill_run", {"name": "x"})):
            error = await refused(client, tool, **arguments)
            assert error["code"] == "CONFIGURATION_ERROR"
            assert "knowledge.enabled" in error["message"]
