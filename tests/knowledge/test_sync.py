"""The blocking twins of knowledge, references and the audit log."""

from collections.abc import Iterator

import pytest

import lamina.sync
from lamina.config import Settings
from lamina.database.settings import DatabaseSettings
from lamina.errors import KnowledgeNotFoundError
from lamina.knowledge.audit import AuditLog
from lamina.knowledge.reference import ReferenceService
from lamina.knowledge.service import KnowledgeService
from lamina.knowledge.settings import KnowledgeSettings
from lamina.sync import SyncApp
from lamina.sync.knowledge import SyncAudit, SyncKnowledge, SyncReferences


@pytest.fixture
def app(sqlite_url: str) -> Iterator[SyncApp]:
    chosen = Settings(database=DatabaseSettings(url=sqlite_url), knowledge=KnowledgeSettings(enabled=True))
    with lamina.sync.open(settings=chosen) as opened:
        yield opened


def test_the_verbs_work_without_await(app: SyncApp) -> None:
    mine = app.knowledge.acting_as("ann")
    mine.save("theme", "Prefers dark mode", category="preference")
    assert [hit.key for hit in app.knowledge.search("dark mode")] == ["theme"]
    assert app.knowledge.used(["theme"]) == 1
    with pytest.raises(KnowledgeNotFoundError):
        app.knowledge.for_tenant("other").get("theme")
    app.references.save("docs", type="api", location="here", summary="pods")
    assert [hit.name for hit in app.references.search("pods")] == ["docs"]
    assert [row.actor for row in app.audit.list().rows] == ["agent", "ann"]


@pytest.mark.parametrize(
    ("twin", "inner", "left_out"),
    [
        (SyncKnowledge, KnowledgeService, set()),
        (SyncReferences, ReferenceService, set()),
        (SyncAudit, AuditLog, {"add"}),  # works inside a transaction, which has no blocking door
    ],
)
def test_no_verb_is_missing(twin: type, inner: type, left_out: set[str]) -> None:
    verbs = {name for name in dir(inner) if not name.startswith("_") and callable(getattr(inner, name, None))}
    assert verbs - left_out == {name for name in dir(twin) if not name.startswith("_")}
