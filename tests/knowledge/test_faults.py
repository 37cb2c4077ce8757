"""A fault at any step of a save, a change or a deletion leaves everything as it was."""

from typing import Any

import pytest

from lamina.app import App
from lamina.errors import ProviderError
from lamina.knowledge import reference, writing
from lamina.knowledge.audit import AuditLog
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from tests.knowledge.opening import loose_ends, row_counts

pytestmark = pytest.mark.anyio

TABLES = (
    "knowledge",
    "knowledge_version",
    "external_reference",
    "rate_slot",
    "index_entry",
    "index_vector",
    "scope",
    "audit_log",
)


def break_after(module: Any, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step do its work and fail then, so that half of the rows are written."""
    whole = getattr(module, step)

    def fail(*args: Any, **named: Any) -> None:
        whole(*args, **named)
        raise ProviderError("the connection went away")

    monkeypatch.setattr(module, step, fail)


@pytest.mark.parametrize("step", ["reserve_slot", "touch", "put_terms", "_keep_version"])
async def test_a_fault_in_the_middle_of_a_first_save_leaves_nothing(
    app: App, knowledge: KnowledgeService, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as broken:
        break_after(writing, step, broken)
        with pytest.raises(ProviderError):
            await knowledge.save("theme", "Prefers dark mode", category="preference", session_key="s")
    assert set((await row_counts(app, *TABLES)).values()) == {0}
    assert await knowledge.search("dark mode", threshold=0) == ()
    saved = await knowledge.save("theme", "Prefers dark mode", category="preference", session_key="s")
    assert (saved.outcome, saved.entry.version) == ("created", 1)


@pytest.mark.requirement("knowledge.store.changed")
@pytest.mark.parametrize("step", ["touch", "bury", "put_terms", "_update", "_keep_version"])
async def test_a_fault_in_the_middle_of_a_change_leaves_the_version_before(
    app: App, knowledge: KnowledgeService, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = (await knowledge.save("theme", "Prefers dark mode", category="preference")).entry
    counts = await row_counts(app, *TABLES)
    with monkeypatch.context() as broken:
        break_after(writing, step, broken)
        with pytest.raises(ProviderError):
            await knowledge.save("theme", "Prefers light mode", category="preference")
    assert await knowledge.get("theme") == before
    assert await row_counts(app, *TABLES) == counts
    assert await loose_ends(app) == {}
    assert [hit.content for hit in await knowledge.search("mode")] == ["Prefers dark mode"]
    assert (await knowledge.save("theme", "Prefers light mode", category="preference")).entry.version == 2


@pytest.mark.parametrize("step", ["touch", "forget"])
async def test_a_fault_in_the_middle_of_a_deletion_deletes_nothing(
    app: App, knowledge: KnowledgeService, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    await knowledge.save("theme", "Prefers dark mode", category="preference")
    with monkeypatch.context() as broken:
        break_after(writing, step, broken)
        with pytest.raises(ProviderError):
            await knowledge.delete("theme")
    assert [hit.key for hit in await knowledge.search("dark mode")] == ["theme"]
    assert await loose_ends(app) == {}


@pytest.mark.requirement("knowledge.audit.rows")
async def test_what_was_done_and_its_audit_row_are_kept_together_or_not_at_all(
    app: App, knowledge: KnowledgeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        break_after(AuditLog, "add", broken)
        for change in (
            knowledge.save("theme", "Prefers dark mode", category="preference"),
            app.references.save("docs", type="api", location="here", summary="pods"),
        ):
            with pytest.raises(ProviderError):
                await change
    assert set((await row_counts(app, *TABLES)).values()) == {0}


@pytest.mark.parametrize("step", ["touch", "put_terms"])
async def test_a_fault_in_the_middle_of_saving_a_reference_leaves_nothing(
    app: App, references: ReferenceService, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as broken:
        break_after(reference, step, broken)
        with pytest.raises(ProviderError):
            await references.save("docs", type="api", location="here", summary="pods")
    assert set((await row_counts(app, *TABLES)).values()) == {0}
