"""The audit log: only ever added to, redacted, and never in the way."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from lamina.app import App
from lamina.database.link import Link
from lamina.errors import InvalidCursorError, InvalidInputError, LaminaError
from lamina.kernel.clock import ManualClock
from lamina.knowledge.service import KnowledgeService
from lamina.knowledge.tables import audit_log
from lamina.observability.metrics import Metrics
from lamina.observability.prometheus import render_prometheus
from tests.knowledge.opening import knowing_app, row_counts, stored_text

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("knowledge.audit.rows")
async def test_every_change_leaves_a_row_with_time_session_actor_action_target_and_details(
    app: App, clock: ManualClock
) -> None:
    mine = app.knowledge.acting_as("ann")
    await mine.save("theme", "dark", category="rule", session_key="telegram:1:2")
    clock.advance(60)
    await mine.save("theme", "light", category="preference")
    await mine.save("theme", "light", category="preference")
    await mine.delete("theme", session_key="slack:3:4")
    await app.references.save("docs", type="api", location="here", summary="pods")
    await app.references.delete("docs")
    rows = (await app.audit.list()).rows
    assert [(row.action, row.actor, row.target, row.session_key, row.details) for row in reversed(rows)] == [
        ("knowledge_save", "ann", "theme", "telegram:1:2", {"outcome": "created", "version": 1, "category": "rule"}),
        ("knowledge_save", "ann", "theme", None, {"outcome": "changed", "version": 2, "category": "preference"}),
        ("knowledge_save", "ann", "theme", None, {"outcome": "unchanged", "version": 2, "category": "preference"}),
        ("knowledge_delete", "ann", "theme", "slack:3:4", {}),
        ("reference_save", "agent", "docs", None, {"type": "api"}),
        ("reference_delete", "agent", "docs", None, {}),
    ]  # fmt: skip
    assert rows[-1].at == clock.now() - timedelta(seconds=60)
    assert rows[0].at == clock.now()
    sequences = [row.sequence for row in rows]
    assert sequences == sorted(sequences, reverse=True)


@pytest.mark.requirement("knowledge.audit.rows")
async def test_tool_calls_and_denied_access_leave_a_row_through_the_same_sink(app: App) -> None:
    await app.audit.record(
        tenant="default",
        action="tool_call",
        actor="agent",
        target="shell",
        details={"status": "error"},
        session_key="s",
    )
    await app.audit.record(tenant="default", action="access_denied", actor="mallory", target="theme")
    assert [(row.action, row.actor, row.details) for row in (await app.audit.list()).rows] == [
        ("access_denied", "mallory", {}),
        ("tool_call", "agent", {"status": "error"}),
    ]


@pytest.mark.requirement("knowledge.audit.append-only")
@pytest.mark.parametrize(
    "change",
    [
        lambda: sa.update(audit_log).values(actor="nobody"),
        lambda: sa.delete(audit_log),
        lambda: sa.delete(audit_log).where(audit_log.c.tenant == "default"),
    ],
    ids=["update", "delete", "delete some"],
)
async def test_rows_cannot_be_changed_or_removed(
    app: App, knowledge: KnowledgeService, change: Callable[[], sa.Executable]
) -> None:
    await knowledge.save("theme", "dark", category="preference")
    with pytest.raises(LaminaError):
        await app.parts.database.write(lambda link: link.execute(change()))
    (row,) = (await app.audit.list()).rows
    assert row.actor == "agent"


@pytest.mark.requirement("knowledge.audit.append-only")
async def test_there_is_no_verb_that_changes_a_row(app: App) -> None:
    assert {name for name in dir(app.audit) if not name.startswith("_")} == {"add", "failed_count", "list", "record"}


@pytest.mark.requirement("knowledge.audit.redacted")
async def test_secrets_are_hidden_before_a_row_is_written(app: App) -> None:
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    await app.audit.record(
        tenant="default",
        action="tool_call",
        actor="agent",
        target=f"push with {secret}",
        details={
            "params": {"password": "tr0ub4dor", "url": "https://u:hunter2pass@host/x", "mail": "ann@example.com"},
            "argv": ["login", "--token", "abc123def456"],
            "error": f"denied: {secret}",
            secret: 1,
        },
    )
    stored = await stored_text(app)
    for hidden in (secret, "tr0ub4dor", "hunter2pass", "abc123def456", "ann@example.com"):
        assert hidden not in stored
    (row,) = (await app.audit.list()).rows
    assert row.details["params"] == {"password": "[redacted]", "url": "https://u:[redacted]@host/x", "mail": "[email]"}
    assert [row.action for row in (await app.audit.list(target=f"push with {secret}")).rows] == ["tool_call"]


@pytest.mark.requirement("knowledge.audit.redacted")
async def test_a_secret_across_the_cut_is_hidden_too(app: App) -> None:
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    for start in (1_990, 1_970, 19_990):
        text = "x" * start + " " + secret
        await app.audit.record(tenant="default", action="tool_call", actor="a", target=text, details={"error": text})
    assert "ghp_" not in await stored_text(app)


async def test_what_the_engine_or_json_cannot_hold_is_made_holdable(app: App) -> None:
    await app.audit.record(
        tenant="default",
        action="tool\0call",
        actor="a\ud800",
        target="x" * 5_000,
        details={
            "nan": float("nan"),
            "big": 2**70,
            "set": {1},
            "bytes": b"abc",
            "object": object,
            "many": list(range(500)),
            "wide": {str(number): number for number in range(150)},
            "long": "y" * 10_000_000,
            "deep": _nested(100),
            "text\0": "\ud800",
            3: "three",  # type: ignore[dict-item]
        },
        session_key="s\0",
    )
    (row,) = (await app.audit.list()).rows
    assert (row.action, row.actor, row.session_key) == ("toolcall", "a?", "s")
    assert row.target is not None
    assert row.target.endswith("… (5000 characters)")
    assert row.details["nan"] == "nan"
    assert row.details["big"] == str(2**70)
    assert row.details["bytes"] == "[3 bytes]"
    assert row.details["many"] == [*range(100), "… and 400 more"]
    assert row.details["3"] == "three"
    wide = row.details["wide"]
    assert isinstance(wide, dict)
    assert (len(wide), wide["…"]) == (101, "and 50 more")
    assert str(row.details["long"]).endswith("… (20000 or more characters)")
    assert app.audit.failed_count == 0


@pytest.mark.requirement("knowledge.audit.failing-write")
async def test_a_failing_write_never_breaks_the_operation_and_is_counted(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics.collecting()
    async with knowing_app(store_url, metrics=metrics) as app:
        await app.parts.database.write(lambda link: link.raw.execute("DROP TABLE audit_log"))
        with caplog.at_level(logging.WARNING, "lamina.audit"):
            saved = await app.knowledge.save("theme", "dark", category="preference")
            await app.knowledge.delete("theme")
            await app.audit.record(tenant="default", action="tool_call", actor="agent")
        assert saved.outcome == "created"
        assert await row_counts(app, "knowledge", "index_entry") == {"knowledge": 0, "index_entry": 0}
        assert app.audit.failed_count == 3
        assert caplog.text.count("was lost") == 3
        shown = render_prometheus(metrics)
        assert 'memory_operations_errors_total{code="PROVIDER_ERROR",operation="audit"} 3' in shown


@pytest.mark.requirement("knowledge.audit.failing-write")
async def test_details_that_fail_when_they_are_read_are_counted_too(app: App) -> None:
    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    await app.audit.record(tenant="default", action="tool_call", actor="agent", details={"a": Hostile()})
    assert app.audit.failed_count == 1
    assert (await app.audit.list()).rows == ()


async def test_a_listing_filters_by_everything_at_once(app: App, clock: ManualClock) -> None:
    start = clock.now()
    for number in range(6):
        await app.audit.record(
            tenant="default",
            action="tool_call" if number % 2 else "knowledge_save",
            actor="ann" if number < 3 else "bob",
            target=f"t{number}",
            session_key=f"s{number % 3}",
        )
        clock.advance(60)

    async def targets(**choice: Any) -> list[str | None]:
        return [row.target for row in (await app.audit.list(**choice)).rows]

    assert await targets() == ["t5", "t4", "t3", "t2", "t1", "t0"]
    assert await targets(action="tool_call") == ["t5", "t3", "t1"]
    assert await targets(actor="ann") == ["t2", "t1", "t0"]
    assert await targets(session_key="s1") == ["t4", "t1"]
    assert await targets(target="t4") == ["t4"]
    since, until = start + timedelta(seconds=60), start + timedelta(seconds=180)
    assert await targets(since=since, until=until) == ["t2", "t1"]
    assert await targets(since=since, action="tool_call", actor="bob", session_key="s0") == ["t3"]
    wrongs: list[dict[str, Any]] = [{"since": datetime(2025, 1, 1)}, {"until": "now"}, {"limit": 0}, {"limit": 1001}]
    for wrong in wrongs:
        with pytest.raises(InvalidInputError):
            await app.audit.list(**wrong)
    assert await targets(since=datetime(2025, 1, 1, 12, tzinfo=UTC)) == []


async def test_pages_cover_everything_once_while_rows_are_added(app: App) -> None:
    async def record(name: str) -> None:
        await app.audit.record(tenant="default", action="tool_call", actor="agent", target=name)

    for number in range(7):
        await record(f"t{number}")
    seen: list[str | None] = []
    cursor: str | None = None
    while True:
        page = await app.audit.list(limit=3, cursor=cursor)
        seen += [row.target for row in page.rows]
        await record("later")
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"t{number}" for number in reversed(range(7))]
    cursor = (await app.audit.list(limit=1)).next_cursor
    choices: list[dict[str, Any]] = [
        {"action": "tool_call"},
        {"tenant": "other"},
        {"since": datetime(2020, 1, 1, tzinfo=UTC)},
    ]
    for choice in choices:
        with pytest.raises(InvalidCursorError):
            await app.audit.list(limit=1, cursor=cursor, **choice)


async def test_many_rows_at_once_are_all_kept(app: App) -> None:
    await asyncio.gather(
        *(app.audit.record(tenant="default", action="tool_call", actor="a", target=str(n)) for n in range(64))
    )
    assert {row.target for row in (await app.audit.list(limit=100)).rows} == {str(number) for number in range(64)}


async def test_the_truncation_of_the_log_is_refused_on_postgresql(fresh_postgres_url: str) -> None:
    async with knowing_app(fresh_postgres_url) as app:
        await app.audit.record(tenant="default", action="tool_call", actor="agent")

        def truncate(link: Link) -> None:
            link.raw.execute("TRUNCATE audit_log")

        with pytest.raises(LaminaError):
            await app.parts.database.write(truncate)
        assert len((await app.audit.list()).rows) == 1


def _nested(depth: int) -> object:
    value: object = "bottom"
    for _ in range(depth):
        value = {"in": value}
    return value
