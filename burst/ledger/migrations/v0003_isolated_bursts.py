"""Isolated bursts."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables of this revision."""
    with op.batch_alter_table("burst", schema=None) as batch_op:
        batch_op.add_column(sa.Column("isolated", sa.Boolean(), server_default=sa.false(), nullable=False))
        batch_op.add_column(sa.Column("remote", sa.String(length=64), server_default="", nullable=False))


def downgrade() -> None:
    """Make those of the one before."""
    with op.batch_alter_table("burst", schema=None) as batch_op:
        batch_op.drop_column("remote")
        batch_op.drop_column("isolated")
