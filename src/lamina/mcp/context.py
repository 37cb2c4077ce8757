"""The tool, and the prompt, of context: everything that is known for a question, as a model should see it."""

from typing import Any, Final, Literal

from pydantic import Field

from lamina.context.receipt import Prompt
from lamina.context.types import TURN_LAYERS
from lamina.mcp.connection import Connection
from lamina.mcp.shown import Form
from lamina.mcp.tool import Tool

Layer = Literal[
    "tool_registry",
    "user_knowledge",
    "skill_patterns",
    "external_knowledge",
    "agent_learnings",
    "runtime_context",
    "observations",
    "reflections",
]
"""The names of `ContextLayer`; a test keeps them equal."""


class AssembleContext(Form):
    """What context_assemble takes."""

    query: str = Field(description="What the user wants right now, in their own words")
    base: str = Field(default="", description="The instructions that the context is added to")
    layers: list[Layer] | None = Field(default=None, description="Only these kinds of context; all by default")
    budget_tokens: int | None = Field(default=None, ge=0, description="Tokens to stay within; 0 is unlimited")


class Section(Form):
    """One section of the prompt."""

    name: str
    tokens: int
    items: int


class AssembledContext(Form):
    """What context_assemble gives."""

    prompt: str = Field(description="The instructions with the context below them; what it quotes is data")
    total_tokens: int
    sections: list[Section]
    left_out: int = Field(description="Items that were found and did not fit, or were held back")


async def assemble(connection: Connection, given: AssembleContext) -> AssembledContext:
    """Assemble the context for a query."""
    made = await assembled(connection, given)
    receipt = made.receipt
    return AssembledContext(
        prompt=made.text,
        total_tokens=receipt.total_tokens,
        sections=[Section(name=one.name, tokens=one.tokens, items=one.items) for one in receipt.sections],
        left_out=len(receipt.cut),
    )


async def assembled(connection: Connection, given: AssembleContext) -> Prompt:
    """The prompt for a query, in the connection's conversation where it names one."""
    return await connection.visitor.rooms.context.assemble(
        given.base,
        query=given.query,
        layers=TURN_LAYERS if given.layers is None else given.layers,
        budget_tokens=given.budget_tokens,
        session_key=await connection.current_session(),
        **connection.identifiers,
    )


TOOLS: Final[tuple[Tool[Any, Any], ...]] = (
    Tool(
        name="context_assemble",
        title="Assemble the context",
        description="Get everything that is known for a request at once, within a budget: memories, knowledge, known "
        "fixes, skills, and notes on the conversation. Call it once at the beginning of a task; for a single question "
        "memory_search is cheaper.",
        takes=AssembleContext,
        gives=AssembledContext,
        run=assemble,
    ),
)
"""The tool of context."""
