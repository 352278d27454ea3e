"""Initials of authors, made of the names that are there."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    with op.batch_alter_table("author") as table:
        table.add_column(sa.Column("initial", sa.Text))
    op.execute("UPDATE author SET initial = substr(name, 1, 1)")
    with op.batch_alter_table("author") as table:
        table.alter_column("initial", nullable=False)


def downgrade() -> None:
    with op.batch_alter_table("author") as table:
        table.drop_column("initial")
