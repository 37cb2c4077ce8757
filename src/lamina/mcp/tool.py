"""One tool: what a model is told of it, whom it is offered to, and how a call is answered."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from mcp import types
from pydantic import ValidationError

from lamina.access.types import Right
from lamina.config import Settings
from lamina.errors import ConfigurationError, LaminaError
from lamina.kernel.session_key import using_session
from lamina.mcp.connection import Connection
from lamina.mcp.refusal import invalid, refusal
from lamina.mcp.shown import Form, document_of, schema_of

Given = TypeVar("Given", bound=Form)
Made = TypeVar("Made", bound=Form)


@dataclass(frozen=True, kw_only=True)
class Tool(Generic[Given, Made]):
    """A tool. `shared` is one that changes what belongs to the whole tenant, so keys bound to somebody have none."""

    name: str
    title: str
    description: str
    takes: type[Given]
    gives: type[Made]
    run: Callable[[Connection, Given], Awaitable[Made]] = field(repr=False)
    right: Right = Right.READ
    shared: bool = False
    destructive: bool = False
    idempotent: bool = False
    section: str | None = None
    """The section of the settings whose `enabled` switches it on."""

    @cached_property
    def described(self) -> types.Tool:
        """What clients are told of it."""
        reading = self.right is Right.READ
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.takes),
            output_schema=schema_of(self.gives),
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=reading,
                destructive_hint=self.destructive,
                idempotent_hint=reading or self.idempotent,
                open_world_hint=False,
            ),
        )

    def is_offered(self, connection: Connection, settings: Settings) -> bool:
        """Whether a caller gets to see it: the key allows it, and its room is switched on."""
        return self._is_on(settings) and connection.may(self.right, shared=self.shared)

    async def call(self, connection: Connection, settings: Settings, arguments: dict[str, Any]) -> types.CallToolResult:
        """Answer a call. Whatever the house refuses is an answer too, for the model to read."""
        try:
            self._require(connection, settings)
            made = await self._made(connection, arguments)
        except LaminaError as error:
            error.operation = error.operation or self.name
            return _answer({"error": refusal(error)}, failed=True)
        return _answer(document_of(made))

    def _is_on(self, settings: Settings) -> bool:
        return self.section is None or bool(getattr(settings, self.section).enabled)

    def _require(self, connection: Connection, settings: Settings) -> None:
        """Raise what says why the tool is not offered, to a caller who knows of it all the same."""
        require = connection.visitor.require_unbound if self.shared else connection.visitor.require
        require(self.right, operation=self.name)
        if not self._is_on(settings):
            raise ConfigurationError(
                f"{self.name} is switched off: set {self.section}.enabled = true.",
                details={"name": f"{self.section}.enabled"},
            )

    async def _made(self, connection: Connection, arguments: dict[str, Any]) -> Made:
        try:
            given = self.takes.model_validate(arguments)
        except ValidationError as error:
            raise invalid(error, operation=self.name) from None
        with using_session(await connection.current_session()):
            return await self.run(connection, given)


def _answer(document: dict[str, Any], *, failed: bool = False) -> types.CallToolResult:
    text = json.dumps(document, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=document, is_error=failed
    )
