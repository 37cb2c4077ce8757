"""The shapes that several resources share, as requests and the documentation know them."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Limit = Annotated[int | None, Field(description="How many at most; the settings have the default and the maximum.")]


class Body(BaseModel):
    """What a caller sends. A name that does not exist is refused: a misspelt filter, ignored, is worse than none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class IdentifiersBody(Body):
    """Who is asking, or whom something belongs to."""

    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    project_id: str | None = None
    team_id: str | None = None
    org_id: str | None = None
    company_id: str | None = None

    def given(self) -> dict[str, str | None]:
        """Those that were sent."""
        return dict(self.__dict__)


class Done(BaseModel):
    """It is done."""

    success: bool = Field(examples=[True])


NOBODY = IdentifiersBody()
Metadata = Annotated[dict[str, Any], Field(description="Anything, to filter by with `where`.")]
