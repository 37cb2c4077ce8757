"""Items, retrievals and held texts as plain JSON objects, for doors. Receipts have `to_dict`."""

from typing import TYPE_CHECKING

from lamina.context.types import ContextItem, RetrievalResult
from lamina.kernel.text import moment_text

if TYPE_CHECKING:
    from lamina.context.quarantine import Case

Record = dict[str, object]


def item_record(item: ContextItem) -> Record:
    """Every field of an item but the note it was made from."""
    return {
        "layer": item.layer.value,
        "key": item.key,
        "content": item.content,
        "score": item.score,
        "signals": dict(item.signals),
        "origin": item.origin.value,
        "trust": item.origin.trust,
        "category": item.category,
        "location": item.location,
        "session_key": item.session_key,
        "at": None if item.at is None else moment_text(item.at),
        "suspicious": list(item.suspicious),
    }


def retrieval_record(found: RetrievalResult) -> Record:
    """What a retrieval found, by layer, and which layers failed."""
    return {
        "items": {place.value: [item_record(one) for one in items] for place, items in found.items.items()},
        "keywords": list(found.keywords),
        "failures": [{"layer": one.layer.value, "reason": one.reason, "error": one.error} for one in found.failures],
        "total_count": found.total,
    }


def case_record(case: "Case") -> Record:
    """Every field of a held text."""
    return {
        "id": case.id,
        "state": case.state.value,
        "layer": case.layer.value,
        "key": case.key,
        "origin": case.origin.value,
        "reasons": list(case.reasons),
        "content": case.content,
        "held_at": case.held_at.isoformat(),
        "decided_at": None if case.decided_at is None else case.decided_at.isoformat(),
    }
