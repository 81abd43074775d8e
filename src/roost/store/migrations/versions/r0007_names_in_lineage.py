"""The name and version of a dataset stay with the runs that used it, also when it is unregistered."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

Name = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    # Nullable columns: added in place. The names of datasets that are already deleted are unknown.
    op.add_column("data_uses", sa.Column("dataset_name", Name))
    op.add_column("data_uses", sa.Column("dataset_version", sa.Integer()))
    uses = sa.table("data_uses", *map(sa.column, ("run_seq", "dataset_id", "dataset_name", "dataset_version")))
    datasets = sa.table("datasets", *map(sa.column, ("id", "workspace", "name", "version")))
    runs = sa.table("runs", *map(sa.column, ("seq", "workspace")))
    known = (datasets.c.id == uses.c.dataset_id) & (datasets.c.workspace == runs.c.workspace)
    known &= runs.c.seq == uses.c.run_seq

    def of(column: sa.ColumnElement[object]) -> sa.ScalarSelect[object]:
        return sa.select(column).select_from(datasets, runs).where(known).correlate(uses).scalar_subquery()

    values = {"dataset_name": of(datasets.c.name), "dataset_version": of(datasets.c.version)}
    op.execute(uses.update().where(uses.c.dataset_id != "").values(values))
