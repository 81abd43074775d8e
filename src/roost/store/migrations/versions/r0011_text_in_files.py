"""Live text past its last few megabytes is in files, which rows name."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("streams", sa.Column("filed", sa.BigInteger()))
    op.create_table(
        "stream_files",
        sa.Column("stream_id", Serial, autoincrement=False, nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("blob", Name, nullable=False),
        sa.ForeignKeyConstraint(
            ["stream_id"], ["streams.id"], name=op.f("fk_stream_files_stream_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("stream_id", "start", name=op.f("pk_stream_files")),
    )
