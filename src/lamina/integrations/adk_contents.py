"""Reads and extends what ADK sends to a model. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from google.adk.tools.base_tool import BaseTool
from google.genai import types

from lamina.context.tools import ToolDescriptor
from lamina.context.types import Origin

# What ADK itself writes in the user's name: the transcript of another agent, and an instruction behind a static one.
_NOT_THE_USERS: Final = ("For context:", "<<<BEGIN_SYSTEM_INSTRUCTION>>>")
# Tools whose descriptions somebody else wrote.
_FOREIGN: Final = frozenset({"mcp_tool", "openapi_tool", "apihub_tool", "google_api_tool"})


def said(content: types.Content | None) -> str:
    """The text of a content that is meant to be read: thoughts, calls, files are left out."""
    parts = content.parts or [] if content is not None else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def user_place(contents: Sequence[types.Content], query: str = "") -> int | None:
    """Where the user's latest message stands: the newest one that says `query`, else the newest with text."""
    spoken = [
        number
        for number, content in enumerate(contents)
        if content.role == "user"
        and not any(part.function_response for part in content.parts or [])
        and said(content).strip()
    ]
    exact = [number for number in spoken if query and said(contents[number]) == query]
    theirs = [number for number in spoken if not said(contents[number]).startswith(_NOT_THE_USERS)]
    return next(iter(reversed(exact or theirs)), None)


def instruction_text(instruction: Any) -> str:
    """The text of a system instruction in any of its forms: a string, a content, a part, a list of them."""
    if isinstance(instruction, types.Content):
        return said(instruction)
    return "\n".join(filter(None, map(_piece_text, _pieces(instruction))))


def extended_instruction(instruction: Any, addition: str) -> Any:
    """The same instruction with text after it; a string stays a string, a content a content, the rest a list."""
    if not instruction:
        return addition
    if isinstance(instruction, str):
        return f"{instruction}\n\n{addition}"
    more = types.Part(text=addition)
    if isinstance(instruction, types.Content):
        return instruction.model_copy(update={"parts": [*(instruction.parts or []), more]})
    return [*_pieces(instruction), more]


def _pieces(instruction: Any) -> list[Any]:
    if instruction is None:
        return []
    return list(instruction) if isinstance(instruction, list) else [instruction]


def _piece_text(piece: Any) -> str:
    return piece if isinstance(piece, str) else (piece.text or "") if isinstance(piece, types.Part) else ""


def descriptors(tools: Mapping[str, BaseTool]) -> tuple[ToolDescriptor, ...]:
    """What the Tool Registry layer is told about the tools of a request."""
    return tuple(
        ToolDescriptor(
            name=name,
            description=" ".join((tool.description or "").split()),
            origin=Origin.IMPORT if _is_foreign(type(tool).__module__.split(".")) else Origin.HOST,
        )
        for name, tool in tools.items()
    )


def _is_foreign(module: Iterable[str]) -> bool:
    return not _FOREIGN.isdisjoint(module)
