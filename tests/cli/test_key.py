"""`lamina key`: made, listed, revoked; the secret is printed once."""

import asyncio
from pathlib import Path

import pytest

import lamina
from lamina.access.types import Grant, Right
from lamina.cli.key import Rights
from lamina.errors import UnauthorizedError
from tests.cli.terminal import Terminal


def test_the_rights_are_those_of_access() -> None:
    assert [one.value for one in Rights] == [one.value for one in Right]


def test_the_secret_alone_is_on_standard_output_and_what_to_do_with_it_beside(terminal: Terminal) -> None:
    made = terminal.ok("key", "create", "laptop")
    secret = made.out.strip()
    assert secret.startswith("lamina_")
    assert "not shown again" in made.err
    assert "Authorization: Bearer" in made.err
    assert secret not in made.err
    assert verified(secret) == Grant(tenant="default", right=Right.WRITE, key_id=secret.split("_")[1])
    for later in ("list", "list --all", "list --all --json"):
        assert secret not in terminal.ok("key", *later.split()).out


def test_a_key_is_made_as_it_was_asked_for(terminal: Terminal) -> None:
    asked = ("--user", "ann", "--right", "read", "--expires", "90d", "--tenant", "acme", "--json")
    made = terminal.ok("key", "create", "ann's phone", *asked).document
    (shown,) = terminal.ok("key", "list", "--tenant", "acme", "--json").document
    assert {**shown, "secret": made["secret"]} == made
    assert (shown["name"], shown["right"], shown["identifiers"]) == ("ann's phone", "read", {"user_id": "ann"})
    assert shown["expires_at"] > shown["created_at"]
    assert terminal.ok("key", "list", "--json").document == []
    table = terminal.ok("key", "list", "--tenant", "acme").out
    assert all(text in table for text in ("ann's phone", "for user ann", "read", "never", "until"))


def test_a_revoked_key_is_of_no_use_and_seen_on_demand(terminal: Terminal) -> None:
    first, last = (terminal.ok("key", "create", name, "--json").document for name in ("first", "last"))
    assert "last one" not in terminal.ok("key", "revoke", first["id"]).err
    assert "last one" in terminal.ok("key", "revoke", last["secret"]).err
    with pytest.raises(UnauthorizedError):
        verified(last["secret"])
    assert "no keys" in terminal.ok("key", "list").out
    assert "revoked" in terminal.ok("key", "list", "--all").out


def test_a_key_that_is_not_there_cannot_be_revoked(terminal: Terminal) -> None:
    made = terminal.ok("key", "create", "mine", "--tenant", "acme", "--json").document
    refused = terminal.run("key", "revoke", made["secret"], "--json")
    assert (refused.status, refused.error["code"]) == (1, "KEY_NOT_FOUND")
    assert "lamina key list" in refused.error["next"]
    assert made["secret"] not in refused.err


def test_a_name_cannot_drive_the_terminal(terminal: Terminal) -> None:
    refused = terminal.run("key", "create", "\x1b[31mred", "--json")
    assert (refused.status, refused.error["code"]) == (1, "INVALID_INPUT")


def test_no_key_is_in_an_export(terminal: Terminal, tmp_path: Path) -> None:
    terminal.add("Prefers dark mode", "--user", "ann")
    made = terminal.ok("key", "create", "laptop", "--json").document
    terminal.ok("export", str(tmp_path / "all.jsonl"))
    exported = (tmp_path / "all.jsonl").read_text()
    assert "dark mode" in exported
    assert made["id"] not in exported


def verified(secret: str) -> Grant:
    async def work() -> Grant:
        async with lamina.open("lamina.db") as app:
            return await app.keys.verify(secret)

    return asyncio.run(work())
