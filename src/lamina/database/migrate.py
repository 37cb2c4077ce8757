"""Brings a store's schema to this version: the check is one query, Alembic is imported only when there is work."""

import threading
from pathlib import Path

import sqlalchemy as sa

from lamina.database.failure import is_driver_error, translate
from lamina.errors import ConfigurationError

HEAD = "0011"
"""The newest migration; a test keeps it equal to what the migrations folder says."""

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x6C616D696E61  # "lamina": one migrating process at a time on PostgreSQL
_ALONE = threading.Lock()  # Alembic keeps its connection in globals: one migrating thread at a time


def current_revision(connection: sa.Connection) -> str | None:
    """The schema version of a store, None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def migrate(engine: sa.Engine) -> None:
    """Create or upgrade the schema. Raises ConfigurationError for a store of a newer Lamina."""
    try:
        with engine.connect() as connection:
            found = current_revision(connection)
            connection.rollback()
        if found != HEAD:
            _upgrade(engine)
    except Exception as error:  # boundary: the driver's exceptions become ours, everything else passes
        if is_driver_error(error):
            raise translate(error) from error
        raise


def _upgrade(engine: sa.Engine) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    with _ALONE, engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.connection.driver_connection.execute("BEGIN IMMEDIATE")  # type: ignore[union-attr]
        else:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        found = current_revision(connection)
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if found is not None and found not in known:
            raise ConfigurationError(
                f"The store's schema is version {found}, newer than this Lamina knows ({HEAD}); upgrade Lamina.",
                details={"found": found, "known": HEAD},
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.connection.driver_connection.commit()  # type: ignore[union-attr]
