"""MCP over standard input and output, for clients that start the server themselves."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from mcp.server.stdio import stdio_server

from lamina.access.types import Grant, Right
from lamina.app import App
from lamina.mcp.connection import Connection, connect
from lamina.mcp.names import VARIABLES
from lamina.mcp.service import create_server
from lamina.memory.types import IdentifierArguments
from lamina.visitor import visit


def local_connection(
    app: App, given: IdentifierArguments, environ: Mapping[str, str], *, read_only: bool = False
) -> Connection:
    """The connection of whoever started the process: every right, or only that to read.

    What is given wins over the environment. Raises InvalidInputError.
    """
    grant = Grant(tenant=app.settings.memory.tenant)
    if read_only:
        grant = replace(grant, right=Right.READ)
    named = {name: environ.get(variable) or None for name, variable in VARIABLES.items()}
    return connect(visit(app, grant), cast(IdentifierArguments, {**named, **given}))


async def serve_stdio(app: App, connection: Connection) -> None:
    """Answer until the client closes our input. What anything else prints goes to standard error meanwhile."""
    server = create_server(app, lambda _: connection)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
