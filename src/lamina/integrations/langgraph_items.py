"""Items of LangGraph as memories: what is kept of them, under which id, and what is searched. Pure."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

KEY: Final = "langgraph"
"""The key in a memory's metadata under which the item is."""
ID: Final = "langgraph-"
"""What the ids of such memories begin with."""


def item_id(namespace: Iterable[str], key: str) -> str:
    """The id of an item: the same for the same place, whenever it is put there."""
    told = json.dumps([list(namespace), key])
    return ID + hashlib.sha256(told.encode()).hexdigest()[:40]


def item_metadata(
    namespace: Iterable[str], key: str, value: Mapping[str, Any], *, indexed: bool, ttl: float | None, put_at: str
) -> dict[str, Any]:
    """The item itself, as a memory's metadata."""
    labels = list(namespace)
    kept: dict[str, Any] = {
        "namespace": labels,
        "path": {str(number): label for number, label in enumerate(labels)},
        "key": key,
        "value": dict(value),
        "indexed": indexed,
        "ttl": ttl,
        "put_at": put_at,
    }
    return {KEY: kept}


def item_text(value: Mapping[str, Any]) -> str:
    """What is searched of a value: its only field, or a line for each of its fields."""
    if len(value) == 1:
        return _told(next(iter(value.values())))
    return "\n".join(f"{name}: {_told(each)}" for name, each in value.items() if each is not None)


def _told(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
