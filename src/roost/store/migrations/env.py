"""Alembic runs this file for every command; it uses the connection from `upgrade.py`."""

from alembic import context

from roost.store.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=False,
    transactional_ddl=False,  # everything is in the caller's transaction
)
context.run_migrations()
