"""Every route of the OpenAPI document, asked by everybody with what was made up from the document.

No answer is a fault of the service's, and each is as the document says.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest
from schemathesis import GenerationMode

from lamina.access.types import Right
from tests.api.everything import OURS, World, world_on

EXAMPLES = int(os.environ.get("LAMINA_SCHEMA_EXAMPLES", "3"))
"""Requests for each operation and caller; more look further."""
OPEN = {"GET /healthz", "GET /readyz"}
NOT_THERE = {400, 404, 409}  # made-up idempotency keys may be no keys, or meet


@pytest.fixture(scope="module")
def world(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service with one of everything in the tenant `ours`."""
    path = tmp_path_factory.mktemp("schema") / "lamina.db"
    copy(migrated_file, path)
    with world_on(f"sqlite:///{path}") as opened:
        yield opened


def test_nobody_gets_further_than_the_door(world: World) -> None:
    before = world.rows(OURS)
    answered = world.ask_everything(world.run(lambda api: api.caller()), examples=1, known=True)
    assert {label for label, statuses in answered.items() if set(statuses) != {401}} == OPEN
    assert world.rows(OURS) == before


def test_another_tenant_with_our_ids_sees_and_changes_nothing_of_ours(world: World) -> None:
    before = world.rows(OURS)
    stranger = world.run(lambda api: api.bearer("theirs"))
    answered = world.ask_everything(stranger, examples=EXAMPLES, known=True)
    for label in ("GET /v1/context/receipts/{id}", "GET /v1/keys/{id}", "POST /v1/quarantine/{id}/release"):
        assert set(answered[label]) <= NOT_THERE
    assert world.rows(OURS) == before


def test_a_user_with_the_ids_of_another_leaves_what_is_theirs_as_it_is(world: World) -> None:
    rooms = world.api.app.for_tenant(OURS)
    ann = world.run(lambda api: api.bearer(OURS, right=Right.ADMIN, whose={"user_id": "ann"}))
    session = world.run(lambda _: rooms.sessions.get("cli:bob"))
    memory = world.run(lambda _: rooms.memory.get(world.ids["/v1/memories/"]["id"], user_id="bob"))
    answered = world.ask_everything(ann, examples=EXAMPLES, known=True)
    for label in ("GET /v1/sessions/{session_key}", "DELETE /v1/sessions/{session_key}"):
        assert set(answered[label]) <= NOT_THERE
    assert world.run(lambda _: rooms.sessions.get("cli:bob")) == session
    assert world.run(lambda _: rooms.memory.get(world.ids["/v1/memories/"]["id"], user_id="bob")) == memory


def test_what_the_document_does_not_allow_is_refused_as_the_caller_s_mistake(world: World) -> None:
    admin = world.run(lambda api: api.bearer(OURS))
    answered = world.ask_everything(admin, mode=GenerationMode.NEGATIVE, examples=EXAMPLES)
    assert all(statuses[400] for statuses in answered.values())


@pytest.mark.parametrize("known", [False, True], ids=["made up", "known"])
def test_who_has_every_right_gets_what_the_document_says(world: World, known: bool) -> None:
    admin = world.run(lambda api: api.bearer(OURS))
    answered = world.ask_everything(admin, examples=EXAMPLES, known=known)
    refused = {label for label, statuses in answered.items() if statuses[401] or statuses[403]}
    assert refused == {"GET /metrics"}  # they count what every tenant does
