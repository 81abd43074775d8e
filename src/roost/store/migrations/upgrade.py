"""Runs the revisions that a database lacks, in the caller's transaction."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config


def config() -> Config:
    """Alembic's configuration, made here: there is no ini file."""
    made = Config()
    made.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    made.set_main_option("path_separator", "os")
    return made


def upgrade(connection: sa.Connection, revision: str = "head") -> None:
    if not connection.in_transaction():
        connection.begin()  # Alembic commits only transactions that it began itself
    made = config()
    made.attributes["connection"] = connection
    command.upgrade(made, revision)
