"""Knowledge, references and learnings over HTTP: the whole tenant reads them, nobody in particular changes them."""

from typing import Any

import pytest

from tests.api.calls import Caller

pytestmark = pytest.mark.anyio

RULE: dict[str, Any] = {"content": "Never deploy on a Friday.", "category": "rule", "tags": ["deploy"]}
GUIDE: dict[str, Any] = {"type": "wiki", "location": "https://wiki.example.com/deploys", "summary": "How we deploy."}
ERROR = "fatal: refusing to merge unrelated histories"


async def test_knowledge_is_saved_in_versions_found_and_forgotten(admin: Caller) -> None:
    first = await admin.put("/knowledge/team/deploy-rule", **RULE)
    assert (first["outcome"], first["entry"]["version"]) == ("created", 1)
    assert (await admin.put("/knowledge/team/deploy-rule", **RULE))["outcome"] == "unchanged"
    await admin.put("/knowledge/team/deploy-rule", content="Never deploy on a Thursday.", category="rule")
    assert (await admin.get("/knowledge/team/deploy-rule"))["version"] == 2
    versions = (await admin.get("/knowledge/team/deploy-rule/history"))["versions"]
    assert [one["version"] for one in versions] == [2, 1]
    found = await admin.post("/knowledge/search", query="When may we deploy?", category="rule")
    assert [one["key"] for one in found["results"]] == ["team/deploy-rule"]
    page = await admin.get("/knowledge", category="rule")
    assert page["total_count"] == 1
    await admin.delete("/knowledge/team/deploy-rule")
    assert (await admin.get("/knowledge/team/deploy-rule", status=404)).error == "KNOWLEDGE_NOT_FOUND"


async def test_a_reference_is_saved_replaced_found_and_forgotten(admin: Caller) -> None:
    await admin.put("/references/deploy-guide", **GUIDE)
    replaced = await admin.put("/references/deploy-guide", **{**GUIDE, "metadata": {"owner": "platform"}})
    assert (await admin.get("/references/deploy-guide")).document == replaced.document
    found = await admin.post("/references/search", query="How do we deploy?")
    assert [one["name"] for one in found["results"]] == ["deploy-guide"]
    assert (await admin.get("/references", type="wiki"))["total_count"] == 1
    await admin.delete("/references/deploy-guide")
    assert (await admin.get("/references/deploy-guide", status=404)).error == "REFERENCE_NOT_FOUND"


async def test_a_learning_is_saved_trusted_found_and_forgotten(admin: Caller) -> None:
    saved = await admin.post("/learnings", status=201, fix="Fetch everything first.", tool="git", error=ERROR)
    id = saved["learning"]["id"]
    fixed = await admin.put(f"/learnings/{id}/fix", fix="Run `git fetch --unshallow`.", origin="user")
    assert fixed["outcome"] == "changed"
    for _ in range(3):
        counted = await admin.post(f"/learnings/{id}/outcomes", success=True)
    assert counted["success_count"] == 3
    found = await admin.post("/learnings/search", query="merge of unrelated histories", unsolved=True)
    assert [one["id"] for one in found["results"]] == [id]
    assert (await admin.get("/learnings", tool="git", has_fix=True))["total_count"] == 1
    assert (await admin.get("/learnings/statistics"))["fix_count"] == 1
    assert (await admin.get(f"/learnings/{id}")).document == counted.document
    await admin.delete(f"/learnings/{id}")
    assert (await admin.get(f"/learnings/{id}", status=404)).error == "LEARNING_NOT_FOUND"


async def test_a_bound_key_reads_what_the_tenant_knows_and_changes_nothing(admin: Caller, ann: Caller) -> None:
    await admin.put("/knowledge/deploy-rule", **RULE)
    await admin.put("/references/deploy-guide", **GUIDE)
    id = (await admin.post("/learnings", status=201, fix="Wait.", tool="git", error=ERROR))["learning"]["id"]
    await ann.get("/knowledge/deploy-rule")
    await ann.get("/references/deploy-guide")
    await ann.get(f"/learnings/{id}")
    await ann.put("/knowledge/deploy-rule", status=403, **RULE)
    await ann.delete("/knowledge/deploy-rule", status=403)
    await ann.put("/references/deploy-guide", status=403, **GUIDE)
    await ann.delete("/references/deploy-guide", status=403)
    await ann.post("/learnings", status=403, fix="Hurry.", tool="git", error=ERROR)
    await ann.put(f"/learnings/{id}/fix", status=403, fix="Hurry.")
    await ann.post(f"/learnings/{id}/outcomes", status=403, success=True)
    await ann.delete(f"/learnings/{id}", status=403)


async def test_another_tenant_knows_nothing_of_it(admin: Caller, stranger: Caller) -> None:
    await admin.put("/knowledge/deploy-rule", **RULE)
    await admin.put("/references/deploy-guide", **GUIDE)
    id = (await admin.post("/learnings", status=201, fix="Wait.", tool="git", error=ERROR))["learning"]["id"]
    for path in ("/knowledge/deploy-rule", "/references/deploy-guide", f"/learnings/{id}"):
        await stranger.get(path, status=404)
        await stranger.delete(path, status=404)
        await admin.get(path)
    for path in ("/knowledge", "/references", "/learnings"):
        assert (await stranger.get(path))["total_count"] == 0


async def test_who_did_it_is_in_the_audit_log(admin: Caller) -> None:
    await admin.put("/knowledge/deploy-rule", **RULE)
    rows = (await admin.get("/audit", action="knowledge_save"))["rows"]
    assert [one["actor"].partition(":")[0] for one in rows] == ["key"]
