"""A text that waits for its vector. Rooms store the text and its terms at once and hand this to a buffer."""

from dataclasses import dataclass
from typing import Protocol

from lamina.index.store import ScopeKey


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingJob:
    """An entry of a scope and the text its vector is made from."""

    scope_key: ScopeKey
    entry: int
    text: str


class EmbeddingSink(Protocol):
    """Takes jobs; False when one was dropped, which a later back-fill makes good."""

    def submit(self, job: EmbeddingJob) -> bool: ...
