"""The chat protocol without the network: reading answers. Not for sending."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lamina.errors import ModelFailedError

_CUT: Final = frozenset({"length", "max_tokens", "model_length", "content_filter", "error"})
"""Reasons to end that mean the answer is not whole; every other reason is an ending of the model's own."""

_THOUGHT: Final = re.compile(r"\s*<(think|thinking|reasoning|thought)>(?:.*?</\1>|(?P<open>.*))", re.DOTALL)
# Some templates put the opening mark into the prompt, so that an answer begins in the middle of the thought.
_THOUGHT_END: Final = re.compile(r"(?:^|\n)[ \t]*</(?:think|thinking|reasoning|thought)>[ \t]*(?:\n|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an endpoint answered; None where it counted nothing."""

    text: str
    finished: bool
    input_tokens: int | None
    output_tokens: int | None


def read_answer(body: bytes) -> Answer:
    """The first choice of an answer, without the model's thoughts.

    Raises ModelFailedError when the body is not an answer. A model that declined to answer gives an empty text that
    is not finished.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise ModelFailedError("The endpoint answered something that is not JSON.") from None
    choices = content.get("choices") if isinstance(content, dict) else None
    if not isinstance(choices, list):
        raise ModelFailedError("The endpoint answered JSON that is not a chat completion.")
    choice = choices[0] if choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelFailedError("The endpoint answered without a message.")
    said = _text(message.get("content"))
    text, thinking = without_thoughts(said or "")
    declined = said is None
    usage = content.get("usage")
    return Answer(
        text=text,
        finished=not (declined or thinking or str(choice.get("finish_reason")) in _CUT),
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
    )


def without_thoughts(text: str) -> tuple[str, bool]:
    """The text without the thoughts a reasoning model wrote before it, and whether it was cut off while thinking.

    Only what stands at the beginning is a thought; the same marks further on are words like any other.
    """
    thinking = False
    while found := _THOUGHT.match(text):
        thinking = found["open"] is not None
        text = text[found.end() :]
    if found := _THOUGHT_END.search(text):
        text = text[found.end() :]
    return text.strip(), thinking


def _text(content: object) -> str | None:
    """The words of a message: a string, or a list of parts of which those of text count; None where it has none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [part for part in content if isinstance(part, dict) and part.get("type") in ("text", "output_text")]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None


def _count(usage: object, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if type(value) is int and value >= 0 else None
