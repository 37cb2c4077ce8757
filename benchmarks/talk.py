"""Long conversations made from a seed: small talk, and now and then something decided, wished, planned or looked up."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import numpy as np

from benchmarks.data import ROOTS, Language
from lamina.session.types import NewMessage, Role, ToolCall, ToolResult

_START = datetime(2025, 1, 6, 9, tzinfo=UTC)
_APART = timedelta(minutes=7)
_USER = "Anna"
_MATTERS = (
    "We decided to move the {a} to the {b} on {number} March.",
    "I prefer the {a} without the {b}, please remember that.",
    "Please remind me to call the {a} about the {b} next Tuesday.",
    "The {a} costs {number} euros, the {b} is at 14:{minute:02}.",
    "My cousin Clara went to the {a} with the {b} yesterday.",
    "From now on use the {a} instead of the {b}.",
    "Why does /srv/{a}/{b}.log say TimeoutError after {number} seconds?",
    "I finished the {a} for the {b} last Friday.",
)
_EVERY = 6  # messages from one such matter to the next
_LOOKED_UP = 40  # messages from one tool call to the next


def messages(language: Language, count: int, *, seed: int) -> Iterator[NewMessage]:
    """Messages of one conversation in turn, seven minutes apart, of 6 to 50 words."""
    random = np.random.default_rng(seed)
    texts = language.texts(count, shortest=6, longest=50, seed=seed)
    call: ToolCall | None = None
    for number, words in enumerate(texts):
        at = _START + number * _APART
        text = " ".join(words).capitalize() + "."
        if call is not None:
            result = ToolResult(call_id=call.id, name=call.name, content=text)
            call = None
            yield NewMessage(role=Role.TOOL, parts=(result,), at=at)
        elif number % _LOOKED_UP == _LOOKED_UP - 3:
            call = ToolCall(id=f"call-{number}", name="lookup", arguments=f'{{"what": "{words[0]}"}}')
            yield NewMessage(role=Role.ASSISTANT, content=text, parts=(call,), at=at)
        elif number % 2:
            yield NewMessage(role=Role.ASSISTANT, content=text, at=at)
        else:
            matter = _matter(random) if number % _EVERY == 0 else ""
            yield NewMessage(role=Role.USER, content=f"{text} {matter}".rstrip(), author=_USER, at=at)


def _matter(random: np.random.Generator) -> str:
    a, b = (ROOTS[place] for place in random.choice(len(ROOTS), 2, replace=False).tolist())
    pattern = _MATTERS[int(random.integers(len(_MATTERS)))]
    return pattern.format(a=a, b=b, number=int(random.integers(2, 900)), minute=int(random.integers(60)))
