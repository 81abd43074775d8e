"""Descriptions of runs, which people may change."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    # A nullable column: added in place.
    op.add_column("runs", sa.Column("description", sa.Text()))
