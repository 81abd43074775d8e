"""A metric's last point as text, when it is no number; the tags that a run was submitted with, for its repetition."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # Nullable columns: added in place. Otherwise SQLite would copy the whole table, and delete the rows that refer to it.
    op.add_column("metrics", sa.Column("text", sa.Text()))
    op.add_column("runs", sa.Column("given_tags", sa.Text()))
