"""What a cursor of memories belongs to: a scope and a filter."""

import json

from lamina.kernel.cursor import decode_cursor, encode_cursor, fingerprint
from lamina.memory.filter import Filter
from lamina.memory.types import Scope

__all__ = ["decode_cursor", "encode_cursor", "listing_fingerprint"]


def listing_fingerprint(scope: Scope, filter: Filter) -> str:
    """The same for the same scope and filter, whatever the order of its tags and conditions."""
    conditions = (
        json.dumps([item.path, item.operator, item.value], separators=(",", ":"), sort_keys=True)
        for item in filter.conditions
    )
    return fingerprint(
        [scope.tenant, scope.layer.value, scope.identifiers.to_dict(), sorted(filter.tags), sorted(conditions)]
    )
