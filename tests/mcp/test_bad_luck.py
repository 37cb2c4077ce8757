"""Calls that are given up, too large, or cut off: nothing is lost, and nobody waits for ever."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from lamina.app import open
from lamina.mcp.connection import Connection
from lamina.mcp.service import TOOLS, create_server
from lamina.mcp.stdio import local_connection
from tests.cli.terminal import start
from tests.mcp.served import Served, called, process, refused
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio

DEADLINE_S = 60


class Stuck:
    """A tool that never ends by itself."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.given_up = anyio.Event()

    async def run(self, connection: Connection, given: Any) -> Any:
        self.begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.given_up.set()


@pytest.fixture
async def stuck(monkeypatch: pytest.MonkeyPatch) -> Stuck:
    """memory_get, which hangs."""
    hanging = Stuck()
    monkeypatch.setitem(cast(dict[str, Any], TOOLS), "memory_get", replace(TOOLS["memory_get"], run=hanging.run))
    return hanging


async def _give_up(client: Client, stuck: Stuck) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "memory_get", {"id": "x"})
        await stuck.begun.wait()
        group.cancel_scope.cancel()
    with anyio.fail_after(DEADLINE_S):
        await stuck.given_up.wait()
    assert (await called(client, "memory_list"))["total_count"] == 0


async def test_a_call_that_the_client_gives_up_is_given_up_over_http(house: Served, stuck: Stuck) -> None:
    async with house.client(X_Lamina_User="ann") as client:
        await _give_up(client, stuck)


async def test_a_call_that_the_client_takes_back_is_given_up(house: Served, stuck: Stuck) -> None:
    connection = local_connection(house.app, {"user_id": "ann"}, {})
    async with Client(create_server(house.app, lambda _: connection), mode="legacy") as client:
        await _give_up(client, stuck)


async def test_a_request_that_is_too_large_is_refused_and_the_next_one_is_not(house: Served) -> None:
    async with house.client(X_Lamina_User="ann") as client:
        with pytest.raises(MCPError):
            await client.call_tool("memory_add", {"content": "x" * 1_100_000})
        assert (await refused(client, "memory_add", content="x" * 900_000))["code"] == "CONTENT_TOO_LONG"
        deep: Any = 1
        for _ in range(200):
            deep = {"a": deep}
        assert (await refused(client, "memory_add", content="x", metadata=deep))["code"] == "INVALID_INPUT"
        assert (await called(client, "memory_list"))["total_count"] == 0


async def test_a_server_that_closes_in_the_middle_of_a_call_is_an_error(house: Served, stuck: Stuck) -> None:
    async with house.client(X_Lamina_User="ann") as client:
        await called(client, "memory_add", content="Ann drinks tea")
        failed: list[Exception] = []

        async def call() -> None:
            with pytest.raises(MCPError) as error:
                await client.call_tool("memory_get", {"id": "x"})
            failed.append(error.value)

        with anyio.fail_after(DEADLINE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(call)
                await stuck.begun.wait()
                await house.stop()
        assert len(failed) == 1
    assert (await house.app.memory.list(user_id="ann")).total_count == 1


async def test_a_process_that_is_killed_keeps_what_it_acknowledged(tmp_path: Path, sqlite_store_url: str) -> None:
    started = process(tmp_path, "--user", "ann", "--store", sqlite_store_url)
    words = ["-c", 'echo $$ > pid; exec "$@"', "sh", started.command, *started.args]
    shell = StdioServerParameters(command="sh", args=words, env=started.env, cwd=tmp_path)
    async with Client(shell, mode="legacy") as client:
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(_add, client, f"Berth {number} is free")
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        with anyio.fail_after(DEADLINE_S), pytest.raises(MCPError):
            await client.call_tool("memory_list", {})
    async with open(sqlite_store_url, embedder=static_embedder()) as app:
        assert (await app.memory.list(user_id="ann")).total_count == 10


async def _add(client: Client, content: str) -> None:
    await called(client, "memory_add", content=content)


def lines(*methods: tuple[str, dict[str, Any]]) -> Iterator[str]:
    """Requests as a client writes them."""
    for number, (method, params) in enumerate(methods):
        yield json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def test_standard_output_carries_the_protocol_and_a_signal_ends_the_process_in_order(tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    add = {"name": "memory_add", "arguments": {"content": "Ann drinks tea"}}
    with start("mcp", "--user", "ann", folder=tmp_path) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write("nonsense\n" + "".join(lines(("initialize", hello), ("tools/call", add))))
        running.stdin.flush()
        answers = [running.stdout.readline() for _ in range(2)]
        running.send_signal(signal.SIGTERM)
        assert running.wait(DEADLINE_S) == 0
        rest, told = running.stdout.read(), running.stderr.read()
    assert all(answer.startswith('{"jsonrpc":"2.0"') for answer in answers)
    assert rest == ""
    assert "knowledge is switched off" in told
    assert "Traceback" not in told
