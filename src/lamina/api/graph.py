"""/v1/graph: who and what is related to what.

What a caller sees and changes is what belongs to everybody in the tenant and to those the identifiers name. A key for
somebody changes only what is theirs.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from lamina.access.types import Right
from lamina.api.answer import answer
from lamina.api.caller import Caller, Whose
from lamina.api.errors import refusals
from lamina.api.graph_shapes import (
    AliasBody,
    AliasRemovedAnswer,
    EndedAnswer,
    FoundEntityAnswer,
    NeighboursAnswer,
    PathAnswer,
    RemovedAnswer,
    SourceRemovedAnswer,
    TripleAnswer,
    TriplesAnswer,
    TriplesToEnd,
    TripleToAdd,
    WalkAnswer,
)
from lamina.api.idempotent import Once
from lamina.api.resource import resource
from lamina.graph.records import entity_record, neighbour_record, triple_record, visit_record, walk_record
from lamina.graph.service import MANUAL
from lamina.graph.types import Direction, Predicate, Reach, Source
from lamina.kernel.ids import new_id
from lamina.memory.access import accessible_scopes, resolve_scope
from lamina.memory.rows import scope_key
from lamina.memory.validate import check_identifiers
from lamina.visitor import Visitor

router = resource("/v1/graph", tag="graph")

_Name = Annotated[str, Query(description="The entity; case and quotes do not count.", examples=["PostgreSQL"])]
_Predicates = Annotated[list[Predicate], Query(alias="predicate", description="Only these relations.")]
_At = Annotated[datetime | None, Query(description="Only what was true then.")]
_Limit = Annotated[int | None, Query(description="How many at most.")]
_Depth = Annotated[int | None, Query(description="Steps away at most.")]
_Session = Annotated[str | None, Query(description="Also what belongs to this conversation alone.")]
_ANY: list[Predicate] = []


@router.get("/triples", summary="Find triples", response_model=TriplesAnswer, responses=refusals(404))
async def find_triples(
    visitor: Caller,
    whose: Whose,
    subject: Annotated[str | None, Query(description="Who or what; its aliases count.")] = None,
    predicate: Annotated[Predicate | None, Query(description="Only this relation.")] = None,
    object: Annotated[str | None, Query(description="To whom or what; its aliases count.")] = None,
    at: _At = None,
    limit: _Limit = None,
    session_key: _Session = None,
) -> Response:
    """Triples with these ends and this relation: stated ones before names that stand together, then the newest."""
    reach = await _reach(visitor, whose, session_key, "graph_find")
    found = await visitor.rooms.graph.find(
        subject=subject, predicate=predicate, object=object, at=at, limit=limit, reach=reach
    )
    return answer({"triples": [triple_record(one) for one in found]})


@router.post("/triples", status_code=201, summary="Add a triple", response_model=TripleAnswer)
async def add_triple(body: TripleToAdd, visitor: Caller, once: Once) -> Response:
    """Record a triple, for everybody in the tenant or for whom a layer names."""
    visitor.require(Right.WRITE, operation="graph_add")
    if body.layer is None or body.source is not None:
        visitor.require_unbound(Right.WRITE, operation="graph_add")
    source = Source(kind=MANUAL, key=once or new_id()) if body.source is None else Source(**body.source.model_dump())
    if body.layer is not None:
        whose = check_identifiers(**visitor.identifiers(body.identifiers.given(), operation="graph_add"))
        scope = resolve_scope(visitor.rooms.name, whose, body.layer, operation="graph_add")
        source = replace(source, scope=scope_key(scope).key)
    if (
        once is not None and source.key == once
    ):  # it may have been added before a crash kept the answer from being given
        added = await visitor.rooms.graph.find(source=(MANUAL, once), limit=1, reach=Reach.of([source.scope]))
        if added:
            return answer(triple_record(added[0]), 201)
    triple = await visitor.rooms.graph.add(
        body.subject,
        body.predicate,
        body.object,
        source=source,
        valid_from=body.valid_from,
        valid_until=body.valid_until,
    )
    return answer(triple_record(triple), 201)


@router.post("/triples/end", summary="End triples", response_model=EndedAnswer)
async def end_triples(body: TriplesToEnd, visitor: Caller) -> Response:
    """Say that something is no longer true; what was true before stays known."""
    visitor.require(Right.WRITE, operation="graph_end")
    reach = _own(visitor, body.identifiers.given(), "graph_end")
    ended = await visitor.rooms.graph.end(body.subject, body.predicate, body.object, until=body.until, reach=reach)
    return answer({"ended": ended})


@router.delete("/triples", summary="Remove triples", response_model=RemovedAnswer)
async def remove_triples(
    visitor: Caller,
    whose: Whose,
    subject: Annotated[str, Query(description="Who or what.")],
    predicate: Annotated[Predicate | None, Query(description="Only this relation.")] = None,
    object: Annotated[str | None, Query(description="Only with this object.")] = None,
) -> Response:
    """Remove triples, whatever their source. One that was taken from a text comes back when that text changes."""
    visitor.require(Right.WRITE, operation="graph_remove")
    reach = _own(visitor, whose, "graph_remove")
    return answer({"removed": await visitor.rooms.graph.remove(subject, predicate, object, reach=reach)})


@router.delete(
    "/sources/{kind}/{key:path}", summary="Remove a source", response_model=SourceRemovedAnswer, responses=refusals(404)
)
async def remove_source(
    kind: Annotated[str, Path(description="The kind of the source.", examples=["import"])],
    key: Annotated[str, Path(description="Its key.", examples=["org-chart-2026"])],
    visitor: Caller,
) -> Response:
    """Remove everything that came from one source."""
    visitor.require_unbound(Right.WRITE, operation="graph_remove_source")
    return answer({"removed": await visitor.rooms.graph.remove_source(kind, key)})


@router.get("/entity", summary="Get an entity", response_model=FoundEntityAnswer, responses=refusals(404))
async def get_entity(name: _Name, visitor: Caller, whose: Whose, session_key: _Session = None) -> Response:
    """An entity with its spellings and aliases, and how often it occurs."""
    reach = await _reach(visitor, whose, session_key, "graph_entity")
    found = await visitor.rooms.graph.entity(name, reach=reach)
    return answer({"entity": None if found is None else entity_record(found)})


@router.get("/neighbours", summary="List neighbours", response_model=NeighboursAnswer, responses=refusals(404))
async def list_neighbours(
    name: _Name,
    visitor: Caller,
    whose: Whose,
    predicates: _Predicates = _ANY,
    direction: Annotated[Direction, Query(description="Which way triples are followed.")] = Direction.BOTH,
    at: _At = None,
    limit: _Limit = None,
    session_key: _Session = None,
) -> Response:
    """The entities one step away."""
    reach = await _reach(visitor, whose, session_key, "graph_neighbours")
    found = await visitor.rooms.graph.neighbours(
        name, direction=direction, predicates=predicates, at=at, limit=limit, reach=reach
    )
    return answer({"neighbours": [neighbour_record(one) for one in found]})


@router.get("/traverse", summary="Walk from an entity", response_model=WalkAnswer, responses=refusals(404))
async def traverse_graph(
    name: _Name,
    visitor: Caller,
    whose: Whose,
    depth: _Depth = None,
    predicates: _Predicates = _ANY,
    direction: Annotated[Direction, Query(description="Which way triples are followed.")] = Direction.BOTH,
    at: _At = None,
    limit: _Limit = None,
    session_key: _Session = None,
) -> Response:
    """What is within some steps of an entity, nearest first."""
    reach = await _reach(visitor, whose, session_key, "graph_traverse")
    found = await visitor.rooms.graph.traverse(
        name, depth=depth, direction=direction, predicates=predicates, at=at, limit=limit, reach=reach
    )
    return answer(walk_record(found))


@router.get("/path", summary="Find a way between entities", response_model=PathAnswer, responses=refusals(404))
async def find_path(
    start: Annotated[str, Query(description="Where to start.", examples=["Ann"])],
    goal: Annotated[str, Query(description="Where to arrive.", examples=["PostgreSQL"])],
    visitor: Caller,
    whose: Whose,
    depth: _Depth = None,
    predicates: _Predicates = _ANY,
    at: _At = None,
    session_key: _Session = None,
) -> Response:
    """One of the shortest ways, triples followed both ways."""
    reach = await _reach(visitor, whose, session_key, "graph_path")
    found = await visitor.rooms.graph.path(start, goal, depth=depth, predicates=predicates, at=at, reach=reach)
    return answer({"path": None if found is None else [visit_record(one) for one in found]})


@router.put("/aliases", summary="Set an alias", response_model=AliasBody)
async def set_alias(body: AliasBody, visitor: Caller) -> Response:
    """Let a name be another name of an entity, for everybody in the tenant."""
    visitor.require_unbound(Right.WRITE, operation="graph_alias")
    await visitor.rooms.graph.alias(body.name, body.alias)
    return answer({"name": body.name, "alias": body.alias})


@router.delete("/aliases", summary="Remove an alias", response_model=AliasRemovedAnswer)
async def remove_alias(
    alias: Annotated[str, Query(description="The alias.", examples=["Postgres"])], visitor: Caller
) -> Response:
    """Let an alias be an entity of its own again."""
    visitor.require_unbound(Right.WRITE, operation="graph_unalias")
    return answer({"removed": await visitor.rooms.graph.unalias(alias)})


async def _reach(visitor: Visitor, given: Mapping[str, str | None], session_key: str | None, operation: str) -> Reach:
    """What a caller sees: what is shared, what is theirs, and what belongs to a conversation of theirs."""
    visitor.require(Right.READ, operation=operation)
    whose = visitor.identifiers(given, operation=operation)
    if session_key is not None and visitor.grant.bound:
        await visitor.conversation(session_key)
    return Reach.of(await visitor.rooms.memory.scope_names(**whose), session_key)


def _own(visitor: Visitor, given: Mapping[str, str | None], operation: str) -> Reach:
    """What a caller may change: those scopes that are named, and for a key of the whole tenant what is shared."""
    whose = check_identifiers(**visitor.identifiers(given, operation=operation), operation=operation)
    scopes = accessible_scopes(visitor.rooms.name, whose)
    return Reach.of((scope_key(scope).key for scope in scopes), shared=not visitor.grant.bound)
