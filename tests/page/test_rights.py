"""What a page draws is one thing; what the service lets its visitors do is decided anew at every step."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Unpack

import pytest

import lamina
from lamina.access.gate import Gate
from lamina.access.types import Grant, Right
from lamina.app import App
from lamina.errors import ForbiddenError, MemoryNotFoundError, UnauthorizedError
from lamina.memory.types import IdentifierArguments, Identifiers
from lamina.page import knowledge, memories, sessions
from lamina.page.door import Door
from lamina.page.knowledge_sheet import KnowledgeSheet
from lamina.page.memory_sheet import MemorySheet
from lamina.page.shell import Frame, Page
from tests.stores import static_embedder

pytestmark = pytest.mark.anyio

BEN = Identifiers(user_id="ben")


@pytest.fixture
async def app(sqlite_store_url: str) -> AsyncIterator[App]:
    """An app with knowledge."""
    async with lamina.open(sqlite_store_url, embedder=static_embedder(), knowledge={"enabled": True}) as opened:
        yield opened


async def frame_for(
    app: App, page: Page, *, right: Right, **identifiers: Unpack[IdentifierArguments]
) -> tuple[Frame, str]:
    """A page that was drawn for somebody who might do everything, and the id of the key that its visitor has."""
    made = await app.keys.create("visitor", right=right, **identifiers)
    door = Door(app=app, gate=Gate(app.keys, app.settings.server, "default"))
    token = door.logins.open(made.secret)
    host = {"host": "127.0.0.1:7077"}
    frame = Frame(page=page, door=door, grant=Grant(tenant="default"), query={}, token=token, headers=host)
    return frame, made.key.id


async def nothing() -> None:
    """What is to be shown anew after a change: nothing."""


async def test_a_key_for_reading_deletes_no_memory_whatever_the_page_drew(app: App) -> None:
    added = (await app.memory.add("Likes rain", user_id="ben")).memory
    frame, _ = await frame_for(app, memories.PAGE, right=Right.READ)
    sheet = MemorySheet(frame, added, BEN, changed=nothing)
    await sheet.load()
    with pytest.raises(ForbiddenError):
        await sheet.delete()
    assert await app.memory.get(added.id, user_id="ben") is not None


async def test_a_key_of_one_user_opens_nobody_elses_memory(app: App) -> None:
    added = (await app.memory.add("Likes rain", user_id="ben")).memory
    frame, _ = await frame_for(app, memories.PAGE, right=Right.WRITE, user_id="cleo")
    for looking_as, refusal in ((BEN, ForbiddenError), (Identifiers(), MemoryNotFoundError)):
        with pytest.raises(refusal):
            await MemorySheet(frame, added, looking_as, changed=nothing).load()


async def test_a_key_of_one_project_changes_nothing_of_the_team_above_it(app: App) -> None:
    await app.hierarchy.set(project_id="shop", team_id="web")
    added = (await app.memory.add("Tabs", layer="team", team_id="web")).memory
    frame, _ = await frame_for(app, memories.PAGE, right=Right.ADMIN, project_id="shop")
    sheet = MemorySheet(frame, added, Identifiers(), changed=nothing)
    await sheet.load()
    with pytest.raises(ForbiddenError):
        await sheet.delete()
    bound = replace(frame, grant=Grant(tenant="default", identifiers=Identifiers(project_id="shop")))
    assert not MemorySheet(bound, added, Identifiers(), changed=nothing).may_change


async def test_somebody_finds_and_recalls_nobody_elses_conversation(app: App) -> None:
    for user in ("ben", "cleo"):
        for key in (f"web:{user}", f"chat:{user}"):
            await app.sessions.append(session_key=key, user_id=user, role="user", content="The rain in Bergen")
    frame, _ = await frame_for(app, sessions.PAGE, right=Right.READ, user_id="ben")
    visitor = await frame.visitor()
    assert {one.key for one in (await sessions.listed(visitor, None)).sessions} == {"web:ben", "chat:ben"}
    assert {hit.message.session_key for hit in await sessions.recalled(visitor, "rain", "ben")} <= {
        "web:ben",
        "chat:ben",
    }
    for refused in (sessions.listed(visitor, "cleo"), sessions.recalled(visitor, "rain", "cleo")):
        with pytest.raises(ForbiddenError):
            await refused
    narrow, _ = await frame_for(app, sessions.PAGE, right=Right.READ, user_id="ben", session_id="web:ben")
    visitor = await narrow.visitor()
    assert [one.key for one in (await sessions.listed(visitor, None)).sessions] == ["web:ben"]
    assert {hit.message.session_key for hit in await sessions.recalled(visitor, "rain", "ben")} == {"web:ben"}


async def test_what_everybody_knows_is_changed_by_no_key_of_one_user(app: App) -> None:
    entry = (await app.knowledge.save("rule", "No deploys on Fridays", category="rule")).entry
    frame, _ = await frame_for(app, knowledge.PAGE, right=Right.WRITE, user_id="ben")
    sheet = KnowledgeSheet(frame, entry, changed=nothing)
    await sheet.load()
    with pytest.raises(ForbiddenError):
        await sheet.delete()


async def test_a_revoked_key_ends_what_is_open(app: App) -> None:
    added = (await app.memory.add("Likes rain", user_id="ben")).memory
    frame, key = await frame_for(app, memories.PAGE, right=Right.ADMIN)
    await app.keys.revoke(key)
    with pytest.raises(UnauthorizedError):
        await MemorySheet(frame, added, BEN, changed=nothing).delete()
