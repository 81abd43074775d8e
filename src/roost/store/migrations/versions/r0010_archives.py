"""Archives of the files that a lock names, so that an environment can be installed when no index has them any more."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "environment_archives",
        sa.Column("lock", Name, primary_key=True),
        sa.Column("manifest", Name, nullable=False),
        sa.Column("python", Name, nullable=False),
        sa.Column("files", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("missing", sa.Text(), nullable=False),
        sa.Column("kept_at", sa.Float(), nullable=False),
    )
