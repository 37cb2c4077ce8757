"""Which scopes a caller reaches. Pure: the stored hierarchy comes in as a lookup.

A layer is accessible when its own identifiers are given. Team, org and company are also reached by walking up
from a project, a team or an org; where the hierarchy has no entry, the id `default` of the tenant stands in.
The same rule serves adding and searching, so that what was added is found by the same identifiers.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from lamina.errors import InvalidInputError, MissingIdentifierError
from lamina.memory.types import Identifiers, MemoryLayer, Scope

Kind = Literal["project", "team", "org"]
HierarchyLookup = Callable[[Kind, str], str | None]
"""The id of the parent of a project, team or org, or None where none is stored."""

DEFAULT_PARENT = "default"


def no_hierarchy(kind: Kind, id: str) -> str | None:
    """The lookup of a tenant that stored no hierarchy."""
    return None


def walk_up(identifiers: Identifiers, parent: HierarchyLookup) -> Identifiers:
    """The identifiers with team, org and company filled in from the nearest one below; given ones stay."""

    def above(kind: Kind, id: str | None) -> str | None:
        return None if id is None else parent(kind, id) or DEFAULT_PARENT

    team = identifiers.team_id or above("project", identifiers.project_id)
    org = identifiers.org_id or above("team", team)
    company = identifiers.company_id or above("org", org)
    return replace(identifiers, team_id=team, org_id=org, company_id=company)


@lru_cache(maxsize=1024)
def accessible_scopes(tenant: str, reached: Identifiers) -> tuple[Scope, ...]:
    """Every scope within reach of identifiers that `walk_up` completed, strongest precedence first."""
    given = reached.to_dict()
    layers = (layer for layer in MemoryLayer if all(name in given for name in layer.required))
    return tuple(Scope(tenant=tenant, layer=layer, identifiers=reached.for_layer(layer)) for layer in layers)


def resolve_layers(
    tenant: str,
    reached: Identifiers,
    layers: Sequence[MemoryLayer | str] | MemoryLayer | str | None,
    *,
    operation: str | None = None,
) -> tuple[Scope, ...]:
    """The scopes of the named layers, each checked; of all accessible layers when none is named.

    Raises InvalidLayerError, MissingIdentifierError that names what to give, and InvalidInputError for an
    empty list of layers. Strongest precedence first; a layer named twice counts once.
    """
    if layers is None:
        return accessible_scopes(tenant, reached)
    named = [layers] if isinstance(layers, str) else list(layers)
    if not named:
        raise InvalidInputError(
            "Name at least one layer, or leave `layers` out to search every accessible one.",
            operation=operation,
            details={"field": "layers"},
        )
    parsed = {MemoryLayer.parse(layer, operation=operation) for layer in named}
    return tuple(resolve_scope(tenant, reached, layer, operation=operation) for layer in MemoryLayer if layer in parsed)


def resolve_scope(
    tenant: str, reached: Identifiers, layer: MemoryLayer | str, *, operation: str | None = None
) -> Scope:
    """The one scope of a layer. Raises InvalidLayerError or MissingIdentifierError."""
    known = MemoryLayer.parse(layer, operation=operation)
    identifiers = reached.for_layer(known, operation=operation)
    return Scope(tenant=tenant, layer=known, identifiers=identifiers)


def require_any(scopes: tuple[Scope, ...], *, operation: str | None = None) -> tuple[Scope, ...]:
    """The scopes, unless there are none: then MissingIdentifierError says which identifiers open a layer."""
    if not scopes:
        raise MissingIdentifierError(
            "No identifier was given that opens a layer; give at least user_id or project_id.",
            operation=operation,
            details={"missing": ["user_id", "project_id"]},
        )
    return scopes
