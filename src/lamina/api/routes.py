"""Every resource of the API, under /v1."""

from starlette.routing import BaseRoute

from lamina.api import (
    audit,
    context,
    graph,
    hierarchy,
    keys,
    knowledge,
    learnings,
    memories,
    notes,
    quarantine,
    references,
    sessions,
    skills,
    transfer,
)

# Notes come before sessions, whose keys may hold slashes and would swallow what follows them.
RESOURCES = (
    memories,
    knowledge,
    references,
    learnings,
    skills,
    notes,
    sessions,
    context,
    graph,
    quarantine,
    audit,
    hierarchy,
    keys,
    transfer,
)


def api_routes() -> list[BaseRoute]:
    """The routes of every resource, side by side: routers in routers are searched over and over."""
    return [route for resource in RESOURCES for route in resource.router.routes]
