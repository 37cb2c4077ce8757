"""What --json prints: plain objects for the nouns of memory."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamina.memory.types import SearchResults


def results_document(query: str, results: "SearchResults") -> dict[str, object]:
    """A search and everything it answered."""
    from lamina.memory.records import results_record

    return {"query": query, **results_record(results)}
