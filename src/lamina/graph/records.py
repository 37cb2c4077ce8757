"""The graph as plain JSON, for commands and doors."""

from lamina.graph.types import Entity, Neighbour, Source, Triple, Visit, Walk


def source_record(source: Source) -> dict[str, object]:
    """A source without what is not known of it."""
    fields = {"kind": source.kind, "key": source.key, "session_key": source.session_key, "scope": source.scope or None}
    return {name: value for name, value in fields.items() if value is not None}


def triple_record(triple: Triple) -> dict[str, object]:
    """A triple with its time and source."""
    return {
        "subject": triple.subject,
        "predicate": triple.predicate.value,
        "object": triple.object,
        "weight": triple.weight,
        "valid_from": None if triple.valid_from is None else triple.valid_from.isoformat(),
        "valid_until": None if triple.valid_until is None else triple.valid_until.isoformat(),
        "recorded_at": triple.recorded_at.isoformat(),
        "source": source_record(triple.source),
    }


def neighbour_record(neighbour: Neighbour) -> dict[str, object]:
    """A neighbour and the triple that leads to it."""
    return {
        "name": neighbour.name,
        "direction": neighbour.direction.value,
        "triple": triple_record(neighbour.triple),
    }


def visit_record(visit: Visit) -> dict[str, object]:
    """A step of a walk."""
    return {
        "name": visit.name,
        "depth": visit.depth,
        "came_from": visit.came_from,
        "direction": visit.direction.value,
        "triple": triple_record(visit.triple),
    }


def walk_record(walk: Walk) -> dict[str, object]:
    """A walk with its steps, nearest first."""
    return {
        "start": walk.start,
        "visits": [visit_record(visit) for visit in walk.visits],
        "complete": walk.complete,
    }


def entity_record(entity: Entity) -> dict[str, object]:
    """An entity with its spellings."""
    return {
        "name": entity.name,
        "spellings": list(entity.spellings),
        "aliases": list(entity.aliases),
        "triples": entity.triples,
        "mentions": entity.mentions,
    }
