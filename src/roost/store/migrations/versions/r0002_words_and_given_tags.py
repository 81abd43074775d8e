"""A metric's last point in words, for those that are no numbers; the tags that a run was submitted with, for its repetition."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # Columns that may be empty: added in place. SQLite would copy the whole table otherwise, and take what refers to it along.
    op.add_column("metrics", sa.Column("text", sa.Text()))
    op.add_column("runs", sa.Column("given_tags", sa.Text()))
