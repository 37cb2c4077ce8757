"""The nouns of context: layers, items, where they came from, and what a retrieval gives back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, cast

from lamina.errors import InvalidInputError
from lamina.memory.types import IdentifierArguments, Identifiers

if TYPE_CHECKING:  # conversations are observed only where that is switched on
    from lamina.observation.types import Note


class ContextLayer(StrEnum):
    """The eight kinds of context that a prompt can carry. Not to be confused with the seven scopes of memory."""

    TOOL_REGISTRY = "tool_registry"
    USER_KNOWLEDGE = "user_knowledge"
    SKILL_PATTERNS = "skill_patterns"
    EXTERNAL_KNOWLEDGE = "external_knowledge"
    AGENT_LEARNINGS = "agent_learnings"
    RUNTIME_CONTEXT = "runtime_context"
    OBSERVATIONS = "observations"
    REFLECTIONS = "reflections"

    @property
    def title(self) -> str:  # type: ignore[override]
        """The layer's name for people, such as `Tool Registry`."""
        return self.value.replace("_", " ").title()

    @classmethod
    def parse(cls, value: "ContextLayer | str") -> "ContextLayer":
        """The layer named `value`; raises InvalidInputError that lists the layers there are."""
        try:
            return cls(value)
        except ValueError:
            names = [layer.value for layer in cls]
            raise InvalidInputError(
                f"There is no context layer {value!r}; choose one of {', '.join(names)}.",
                details={"field": "layers", "layers": names},
            ) from None

    @classmethod
    def parse_all(cls, values: "Iterable[ContextLayer | str] | ContextLayer | str") -> "tuple[ContextLayer, ...]":
        """The layers named, each once; a single name is a list of one. Raises InvalidInputError like `parse`."""
        if isinstance(values, str):
            return (cls.parse(values),)
        if not isinstance(values, Iterable):
            raise InvalidInputError(
                "layers must be a list of names of layers.", details={"field": "layers", "type": type(values).__name__}
            )
        return tuple(dict.fromkeys(map(cls.parse, values)))


class Semantic(StrEnum):
    """What a prompt carries beside the eight layers: memories and archived messages of the session found by meaning,
    and what the graph adds to them.
    """

    MEMORY = "memory"
    MESSAGE = "message"
    GRAPH = "graph"


Place = ContextLayer | Semantic
"""Where in a prompt an item belongs."""


def parse_place(value: str) -> Place:
    """The place named `value`; raises ValueError for anything else."""
    try:
        return ContextLayer(value)
    except ValueError:
        return Semantic(value)


NOTES = (ContextLayer.REFLECTIONS, ContextLayer.OBSERVATIONS)
"""The two layers of Conversation Memory, in the order of the prompt; they have a budget of their own."""

DEFAULT_LAYERS = (
    ContextLayer.USER_KNOWLEDGE,
    ContextLayer.SKILL_PATTERNS,
    ContextLayer.EXTERNAL_KNOWLEDGE,
    ContextLayer.AGENT_LEARNINGS,
)
"""What a retrieval searches when it names no layers."""

TURN_LAYERS = (ContextLayer.RUNTIME_CONTEXT, ContextLayer.TOOL_REGISTRY, *DEFAULT_LAYERS)
"""What is searched for the prompt of a model's turn, beside meaning and conversation."""


class Origin(StrEnum):
    """Who an item comes from, the most trusted first."""

    HOST = "host"
    """The application itself: session state, its own tools."""
    USER = "user"
    """The user said it."""
    AGENT = "agent"
    """The agent concluded it."""
    TOOL = "tool"
    """A tool returned it."""
    IMPORT = "import"
    """It was imported from elsewhere."""

    @property
    def trust(self) -> str:
        """How far it is trusted: full, high, medium or low."""
        return _TRUST[self]


_TRUST = {
    Origin.HOST: "full",
    Origin.USER: "high",
    Origin.AGENT: "medium",
    Origin.TOOL: "low",
    Origin.IMPORT: "low",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One thing that may enter a prompt.

    `category` and `location` are shown where a layer has them. `session_key` is set on what belongs to one session
    only; such an item never enters the prompt of another. `at` orders notes; `score` is a relevance in [0, 1].
    """

    layer: Place
    key: str
    content: str
    score: float = 0.0
    signals: Mapping[str, float] = field(default_factory=dict)
    origin: Origin = Origin.AGENT
    category: str | None = None
    location: str | None = None
    session_key: str | None = None
    at: datetime | None = None
    suspicious: tuple[str, ...] = ()
    """Why the text reads like instructions to the model, if it does; see `suspicion`."""
    note: "Note | None" = None
    """The note that `content` shows, line by line, where it is one; it is shown as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRequest:
    """What a layer is asked for. `keywords` are the query's, never empty unless the layer needs none."""

    query: str
    keywords: tuple[str, ...]
    limit: int
    threshold: float = 0.0
    tenant: str = "default"
    session_key: str | None = None
    identifiers: Identifiers = field(default_factory=Identifiers)
    found: tuple[ContextItem, ...] = ()
    """What the other layers found, for the graph, which starts from there."""


def arguments(identifiers: Identifiers) -> IdentifierArguments:
    """Identifiers as the verbs of memory take them."""
    return cast(IdentifierArguments, identifiers.to_dict())


class LayerSource(Protocol):
    """Supplies the items of one layer."""

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """The best items for the request, best first, at most `limit`; whatever it raises only costs this layer."""
        ...


class TextJudge(Protocol):
    """A second opinion on whether texts read like instructions."""

    async def judge(self, texts: Sequence[str]) -> Sequence[bool]:
        """One answer a text; whatever it raises leaves the first opinion alone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerFailure:
    """A layer that gave nothing, or not everything.

    `reason` is failed, timed out, garbage, or other session, when it gave what belongs to another one; `error` is an
    error's code or type.
    """

    layer: Place
    reason: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalResult:
    """What was found, by layer, best first; a layer without items is absent."""

    items: Mapping[Place, tuple[ContextItem, ...]] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    failures: tuple[LayerFailure, ...] = ()
    surplus: tuple[ContextItem, ...] = ()
    """What layers gave beyond the number they were asked for."""

    @property
    def total(self) -> int:
        """How many items there are in all."""
        return sum(map(len, self.items.values()))
