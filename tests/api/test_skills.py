"""Skills over HTTP: kept as drafts, approved by somebody who may, then run."""

import pytest

from lamina.access.types import Right
from tests.api.calls import Bearers, Caller

pytestmark = pytest.mark.anyio

NOTES = {
    "name": "release-notes",
    "description": "Writes the notes of a release.",
    "type": "template",
    "definition": {"template": "Release {{ version }}"},
}


async def test_a_skill_runs_once_it_is_approved(admin: Caller) -> None:
    assert (await admin.post("/skills", status=201, **NOTES))["status"] == "draft"
    early = await admin.post("/skills/release-notes/run", status=409, arguments={"version": "1.4"})
    assert early.error == "SKILL_NOT_ACTIVE"
    approved = await admin.post("/skills/release-notes/approve", version=1)
    assert approved["decided_by"].startswith("key:")
    ran = await admin.post("/skills/release-notes/run", arguments={"version": "1.4"})
    assert ran["output"] == "Release 1.4"
    found = await admin.post("/skills/search", query="notes of a release")
    assert [one["skill"]["name"] for one in found["results"]] == ["release-notes"]


async def test_a_changed_skill_waits_again_and_keeps_its_versions(admin: Caller) -> None:
    await admin.post("/skills", status=201, **NOTES)
    await admin.post("/skills/release-notes/approve")
    changed = await admin.patch("/skills/release-notes", definition={"template": "News of {{ version }}"})
    assert (changed["version"], changed["status"]) == (2, "draft")
    assert (await admin.post("/skills/release-notes/approve", status=400, version=1)).error == "INVALID_INPUT"
    assert (await admin.post("/skills/release-notes/reject", version=2))["status"] == "disabled"
    versions = (await admin.get("/skills/release-notes/history"))["versions"]
    assert [one["version"] for one in versions] == [2, 1]
    wanted = {"status": "disabled", "type": "template"}
    assert (await admin.call("GET", "/skills", params=wanted))["total_count"] == 1


async def test_what_a_run_fails_of_is_told(admin: Caller) -> None:
    await admin.post("/skills", status=201, **NOTES)
    await admin.post("/skills/release-notes/approve")
    assert (await admin.post("/skills/release-notes/run", status=400, arguments={})).error == "INVALID_INPUT"
    assert (await admin.post("/skills/other/run", status=404)).error == "SKILL_NOT_FOUND"


async def test_only_an_admin_of_the_tenant_decides_on_skills(admin: Caller, ann: Caller, bearer: Bearers) -> None:
    writer = await bearer(Right.WRITE)
    await writer.post("/skills", status=201, **NOTES)
    for caller in (writer, ann):
        await caller.post("/skills/release-notes/approve", status=403)
        await caller.post("/skills/release-notes/reject", status=403)
        await caller.delete("/skills/release-notes", status=403)
    await ann.post("/skills", status=403, **{**NOTES, "name": "mine"})
    await ann.patch("/skills/release-notes", status=403, description="Mine")
    await admin.delete("/skills/release-notes")
    await admin.get("/skills/release-notes", status=404)


async def test_another_tenant_has_other_skills(admin: Caller, stranger: Caller) -> None:
    await admin.post("/skills", status=201, **NOTES)
    await stranger.get("/skills/release-notes", status=404)
    await stranger.post("/skills/release-notes/approve", status=404)
    assert (await stranger.get("/skills"))["total_count"] == 0
