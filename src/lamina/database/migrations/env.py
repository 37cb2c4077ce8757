"""Alembic's entry: runs the migrations on the connection it was handed, inside the caller's transaction."""

from alembic import context

from lamina.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
    transactional_ddl=False,
)
context.run_migrations()
