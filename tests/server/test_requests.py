"""The line that a request leaves in the log."""

import logging

import pytest

from lamina.access.types import Right
from tests.server.served import service_on

pytestmark = pytest.mark.anyio


async def test_a_key_that_is_revoked_by_its_secret_leaves_its_id_alone(
    sqlite_store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with service_on(sqlite_store_url) as served:
        admin = await served.key(Right.ADMIN)
        leaked = await served.app.keys.create("leaked")
        with caplog.at_level(logging.INFO, "lamina.server"):
            answered = await served.http.delete(f"/v1/keys/{leaked.secret}", headers=admin)
    assert answered.json()["revoked_at"]
    assert f"DELETE /v1/keys/lamina_{leaked.key.id}_… 200" in caplog.text
    assert leaked.secret not in caplog.text
