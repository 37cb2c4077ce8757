"""Who calls: every route asks for a `Caller`, which is let in by the gate first."""

from typing import Annotated

from fastapi import Depends, Query, Request

from lamina.visitor import VISITOR, Visitor, visit


async def admitted(request: Request) -> Visitor:
    """The visitor a request comes from. Raises UnauthorizedError and ForbiddenError as the gate does."""
    known: Visitor | None = request.scope.get(VISITOR)
    if known is not None:
        return known
    grant = await request.app.state.gate.admit_headers(request.headers)
    visitor = request.scope[VISITOR] = visit(request.app.state.lamina, grant)
    return visitor


Caller = Annotated[Visitor, Depends(admitted)]
"""The visitor, for the signature of a route."""


def _named(
    agent_id: Annotated[str | None, Query(description="The agent.")] = None,
    user_id: Annotated[str | None, Query(description="The user.", examples=["ann"])] = None,
    session_id: Annotated[str | None, Query(description="The session.")] = None,
    project_id: Annotated[str | None, Query(description="The project.")] = None,
    team_id: Annotated[str | None, Query(description="The team.")] = None,
    org_id: Annotated[str | None, Query(description="The organisation.")] = None,
    company_id: Annotated[str | None, Query(description="The company.")] = None,
) -> dict[str, str | None]:
    return {
        "agent_id": agent_id,
        "user_id": user_id,
        "session_id": session_id,
        "project_id": project_id,
        "team_id": team_id,
        "org_id": org_id,
        "company_id": company_id,
    }


Whose = Annotated[dict[str, str | None], Depends(_named)]
"""The identifiers in a request's query string; use them through `visitor.identifiers(...)`."""
