"""Secrets in error texts and tool parameters never reach the store; ordinary text does."""

from pathlib import Path
from typing import Any

import pytest

from lamina.kernel.session_key import using_session
from tests.learning.opening import close_log, learning_app, stored_bytes, stored_rows

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("knowledge.learning.redacted")]

# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "token": "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "cloud": "AK" + "IA" + "Z7Q2XW5RM4TPLN3V",
    "password": "hunter2-Tr0ub4dor",
    "bearer": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".c2lnbmF0dXJlLXRoYXQtaXMtbG9uZw",
    "mail": "ann.secretive@example.org",
    "url": "Sw0rdf1sh-9",
}
ERRORS = {
    "token": f"clone failed with {SECRETS['token']}",
    "cloud": f"AccessDenied for {SECRETS['cloud']} in eu-west-1",
    "password": f"login refused: password={SECRETS['password']}",
    "bearer": f"401: Authorization: Bearer {SECRETS['bearer']}",
    "mail": f"mailbox of {SECRETS['mail']} is full",
    "url": f"cannot reach postgresql://admin:{SECRETS['url']}@db/main",
}


def login(user: str, password: str, options: dict[str, Any] | None = None, *, note: str = "") -> str:
    """Fail with what `note` says, or succeed."""
    if note:
        raise RuntimeError(note)
    return user


async def plant(app: Any) -> None:
    """Let every secret through every door of learning."""
    tool = app.learning.wrap(login)
    with using_session("s"):
        for text in ERRORS.values():
            with pytest.raises(RuntimeError):
                tool("ann", SECRETS["password"], note=text)
        tool("ann", SECRETS["password"], {"api_key": SECRETS["cloud"], "headers": {"Cookie": SECRETS["bearer"]}})
        tool("ann", password=SECRETS["password"], options={"text": "x" * 190 + " token " + SECRETS["token"]})
        tool("ann", "", {"text": "x" * 1990 + SECRETS["token"]})
    await app.learning.drain()
    for name in ("token", "cloud", "password", "bearer", "url"):
        await app.learning.save(
            f"Use another one than {ERRORS[name]}",
            tool="login",
            error=f"{name}: {ERRORS[name]}",
            trigger=f"when {ERRORS[name]}",
            diagnosis=ERRORS[name],
            tags=[ERRORS[name][:150]],
        )
    await app.learning.save("Write to them.", error=ERRORS["mail"], tool="mailer")
    await app.learning.fix_for("login", ERRORS["token"])


async def test_no_secret_is_in_any_row_or_byte_of_a_store(tmp_path: Path) -> None:
    path = tmp_path / "lamina.db"
    async with learning_app(f"sqlite:///{path}", max_learnings_per_session=0) as app:
        await plant(app)
        rows = await stored_rows(app)
        raw = stored_bytes(path)
    close_log(path)
    for name, secret in SECRETS.items():
        assert secret not in rows, name
        assert secret.encode() not in raw + stored_bytes(path), name
    assert "clone failed with [redacted]" in rows
    assert "mailbox of [email] is full" in rows
    assert "'parameters'" in rows or '"parameters"' in rows


async def test_no_secret_is_in_any_row_of_postgres(fresh_postgres_url: str) -> None:
    async with learning_app(fresh_postgres_url, max_learnings_per_session=0) as app:
        await plant(app)
        rows = await stored_rows(app)
    for name, secret in SECRETS.items():
        assert secret not in rows, name
    assert "clone failed with [redacted]" in rows


async def test_no_half_of_a_secret_survives_where_a_long_text_is_cut(sqlite_url: str) -> None:
    async with learning_app(sqlite_url) as app:
        tool = app.learning.wrap(login)
        for before in range(150, 210, 3):
            tool("x" * before + " " + SECRETS["token"], "")
        with pytest.raises(RuntimeError):
            tool("ann", "", note="y" * 3_980 + " " + SECRETS["token"])
        await app.learning.drain()
        rows = await stored_rows(app)
    assert SECRETS["token"][:12] not in rows


async def test_ordinary_text_is_untouched(sqlite_url: str) -> None:
    text = "The token bucket of worker 7 is empty; see commit 3f786850e387550fdab836ed7e6dc881de23001b"
    async with learning_app(sqlite_url) as app:
        saved = await app.learning.save(text, tool="t", error=text, diagnosis=text)
        assert (saved.learning.fix, saved.learning.diagnosis) == (text, text)


async def test_logs_and_messages_of_a_failing_engine_hold_no_secret(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise OSError("gone")

    async with learning_app(sqlite_url) as app:
        tool = app.learning.wrap(login)
        with monkeypatch.context() as patched:
            patched.setattr(type(app.learning.database), "write", broken)
            for text in ERRORS.values():
                with pytest.raises(RuntimeError):
                    tool("ann", SECRETS["password"], note=text)
            await app.learning.drain()
    assert app.metrics is not None
    assert "learning from login failed" in caplog.text
    assert not [name for name, secret in SECRETS.items() if secret in caplog.text]
