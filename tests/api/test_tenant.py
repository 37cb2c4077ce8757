"""What concerns a whole tenant over HTTP: its hierarchy, its audit log, its keys."""

import pytest

from lamina.access.types import Right
from tests.api.calls import Api, Bearers, Caller

pytestmark = pytest.mark.anyio


async def test_who_belongs_to_whom_is_set_shown_and_forgotten(admin: Caller, stranger: Caller) -> None:
    shown = await admin.put("/hierarchy", project_id="web", team_id="ui", org_id="labs")
    assert [(one["kind"], one["id"], one["parent_id"]) for one in shown["links"]] == [
        ("project", "web", "ui"),
        ("team", "ui", "labs"),
    ]
    assert (await admin.get("/hierarchy")).document == shown.document
    assert (await stranger.get("/hierarchy"))["links"] == []
    assert (await stranger.delete("/hierarchy/project/web"))["removed"] is False
    assert (await admin.delete("/hierarchy/project/web"))["removed"] is True
    assert (await admin.delete("/hierarchy/project/web"))["removed"] is False
    assert len((await admin.get("/hierarchy"))["links"]) == 1


async def test_levels_that_do_not_meet_are_refused(admin: Caller) -> None:
    assert (await admin.put("/hierarchy", project_id="web", status=400)).error == "INVALID_INPUT"
    assert (await admin.put("/hierarchy", project_id="web", company_id="acme", status=400)).error == "INVALID_INPUT"
    assert (await admin.delete("/hierarchy/planet/earth", status=400)).error == "INVALID_INPUT"


async def test_the_audit_log_is_read_page_by_page(admin: Caller, stranger: Caller) -> None:
    for number in range(3):
        await admin.put("/hierarchy", project_id=f"p{number}", team_id="ui")
    first = await admin.get("/audit", action="hierarchy_set", limit=2)
    rest = await admin.get("/audit", action="hierarchy_set", limit=2, cursor=first["next_cursor"])
    assert [row["details"]["project_id"] for row in (*first["rows"], *rest["rows"])] == ["p2", "p1", "p0"]
    assert rest["next_cursor"] is None
    assert (await admin.get("/audit", since="2100-01-01T00:00:00Z"))["rows"] == []
    assert (await stranger.get("/audit", action="hierarchy_set"))["rows"] == []
    assert (await admin.get("/audit", cursor="nonsense", status=400)).error == "INVALID_CURSOR"
    assert (await admin.get("/audit", since="2026-01-01T00:00:00", status=400)).error == "INVALID_INPUT"
    assert (await admin.get("/audit", limit=100_000, status=400)).error == "INVALID_INPUT"


async def test_a_key_is_made_used_and_revoked(api: Api, admin: Caller) -> None:
    made = await admin.post(
        "/keys",
        status=201,
        name="support bot",
        right="read",
        identifiers={"user_id": "ann"},
        expires_at="2100-01-01T00:00Z",
    )
    assert made["secret"].startswith("lamina_")
    assert made.headers["cache-control"] == "no-store"
    assert (made["key"]["right"], made["key"]["identifiers"]) == ("read", {"user_id": "ann"})
    bot = await api.caller(made["secret"])
    assert (await bot.get("/sessions"))["total_count"] == 0

    id = made["key"]["id"]
    listed = await admin.get("/keys")
    assert id in [one["id"] for one in listed["keys"]]
    assert made["secret"].rsplit("_", 1)[1] not in str(listed.document)
    assert (await admin.get(f"/keys/{id}"))["name"] == "support bot"
    assert (await admin.delete(f"/keys/{id}"))["revoked_at"] is not None
    assert (await bot.get("/sessions", status=401)).error == "UNAUTHORIZED"
    assert id not in [one["id"] for one in (await admin.get("/keys", revoked=False))["keys"]]


async def test_a_key_made_with_an_idempotency_key_is_stored_nowhere_with_its_secret(admin: Caller) -> None:
    headers = {"idempotency-key": "k1"}
    first = await admin.call("POST", "/keys", status=201, json={"name": "bot"}, headers=headers)
    again = await admin.call("POST", "/keys", status=201, json={"name": "bot"}, headers=headers)
    assert first["secret"] != again["secret"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": " "},
        {"name": "x", "right": "owner"},
        {"name": "x", "expires_at": "2001-01-01T00:00:00Z"},
        {"name": "x", "expires_at": "2100-01-01T00:00:00"},
        {"name": "x", "identifiers": {"planet_id": "earth"}},
        {"name": "x", "identifiers": {"session_id": "cli:1"}},
    ],
)
async def test_a_key_that_cannot_be_is_refused(admin: Caller, body: dict[str, object]) -> None:
    assert (await admin.post("/keys", status=400, **body)).error in ("INVALID_INPUT", "MISSING_IDENTIFIER")
    assert len((await admin.get("/keys"))["keys"]) == 1


async def test_keys_of_another_tenant_are_not_there(admin: Caller, stranger: Caller) -> None:
    (mine,) = (await admin.get("/keys"))["keys"]
    assert (await stranger.get(f"/keys/{mine['id']}", status=404)).error == "KEY_NOT_FOUND"
    assert (await stranger.delete(f"/keys/{mine['id']}", status=404)).error == "KEY_NOT_FOUND"
    assert (await admin.get(f"/keys/{mine['id']}"))["revoked_at"] is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/audit", None),
        ("GET", "/keys", None),
        ("POST", "/keys", {"name": "mine"}),
        ("GET", "/keys/x", None),
        ("DELETE", "/keys/x", None),
        ("PUT", "/hierarchy", {"project_id": "web", "team_id": "ui"}),
        ("DELETE", "/hierarchy/project/web", None),
    ],
)
async def test_who_may_only_write_or_is_somebody_in_particular_decides_nothing_for_the_tenant(
    bearer: Bearers, method: str, path: str, body: dict[str, object] | None
) -> None:
    for caller in (await bearer(Right.WRITE), await bearer(Right.ADMIN, user_id="ann")):
        assert (await caller.call(method, path, status=403, json=body)).error == "FORBIDDEN"


async def test_the_hierarchy_is_shown_to_readers_of_the_tenant_and_to_nobody_in_particular(
    bearer: Bearers, ann: Caller
) -> None:
    assert (await (await bearer(Right.READ)).get("/hierarchy"))["links"] == []
    assert (await ann.get("/hierarchy", status=403)).error == "FORBIDDEN"


async def test_nobody_is_let_in_without_a_key_or_with_a_wrong_one(api: Api, admin: Caller) -> None:
    wrong = admin.secret[:-1] + ("0" if admin.secret[-1] != "0" else "1")
    for secret in ("", wrong, "lamina_x", "sk-other", "x" * 3000):
        nobody = await api.caller(secret)
        for path in (
            "/sessions",
            "/audit",
            "/keys",
            "/hierarchy",
            "/quarantine",
            "/graph/triples",
            "/context/receipts",
        ):
            assert (await nobody.get(path, status=401)).error == "UNAUTHORIZED"
