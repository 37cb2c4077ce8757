"""The knobs of context assembly, with the specification's defaults."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSettings:
    """How much context enters a prompt, how long it may take, and what happens to suspicious text."""

    max_per_layer: int = 5
    """Items a layer gives at most."""
    threshold: float = 0.2
    """The relevance an item of a stored layer needs, from 0 to 1; low, because max_per_layer limits it anyway."""
    tool_threshold: float = 0.01
    """The relevance a tool needs, from 0 to 1; any keyword that matches is enough by default."""
    memory_threshold: float = 0.7
    """The relevance a memory needs to enter the semantic section, from 0 to 1."""
    deadline_s: float = 2.0
    """Seconds after which a layer that has not answered is left out; 0 waits for ever."""
    turn_deadline_s: float = 5.0
    """Seconds after which a model's turn goes on without any context; 0 waits for ever."""
    budget_tokens: int = 4000
    """Tokens that everything added to the base prompt may take, Conversation Memory apart; 0 is unlimited."""
    memory_first: bool = False
    """Conversation Memory before all that is searched for in each turn, so that a provider's prompt cache keeps it."""
    max_query_length: int = 2000
    """Characters of the user's message that are searched for: of a longer one, its beginning and its end."""
    suspicious: Literal["mark", "quarantine", "ignore"] = "mark"
    """What happens to text from tools and imports that reads like instructions."""
    classifier: bool = False
    """Ask a small classifier (the extra `defender`) about such text too; what it alone finds is marked, never held."""
    store_receipts: bool = False
    """Whether the receipt of every assembled prompt is stored."""
    keep_receipts: int = 1000
    """Stored receipts of a tenant at most, the newest; 0 keeps all."""

    def __post_init__(self) -> None:
        for name in ("max_per_layer", "max_query_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("threshold", "tool_threshold", "memory_threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        for name in ("deadline_s", "turn_deadline_s", "budget_tokens", "keep_receipts"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
