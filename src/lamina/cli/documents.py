"""What --json prints: plain objects for the nouns of memory."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamina.memory.types import SearchResults


def results_document(query: str, results: "SearchResults") -> dict[str, object]:
    """A search and everything it answered."""
    from lamina.memory.records import entry_record

    return {
        "query": query,
        "results": [
            {"score": hit.score, **({"explain": dict(hit.explain)} if hit.explain else {}), **entry_record(hit.memory)}
            for hit in results
        ],
        "total_count": results.total_count,
        "searched_layers": [layer.value for layer in results.searched_layers],
        "duplicates": [
            {"id": one.id, "layer": one.layer.value, "score": one.score, "kept_id": one.kept_id}
            for one in results.duplicates
        ],
        "warnings": [{"layer": one.layer.value, "code": one.code, "message": one.message} for one in results.warnings],
    }
