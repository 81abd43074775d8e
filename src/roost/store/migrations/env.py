"""Alembic runs this file for every command; it works on the connection that `upgrade.py` hands over."""

from alembic import context

from roost.store.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transaction_per_migration=False,
    transactional_ddl=False,  # the caller's transaction holds it all
)
context.run_migrations()
