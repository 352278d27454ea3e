"""Nodes that were there, and fees."""

import sqlalchemy as sa
from alembic import op

# Until now each resource cost all of its nodes for as long as it was there; one of a burst has any.
_MADE = """\
INSERT INTO burst_nodes (burst, number, at, nodes)
SELECT burst, 2 * number + 1, made_at, nodes FROM burst_resource WHERE made_at IS NOT NULL AND nodes > 0"""
_GONE = """\
INSERT INTO burst_nodes (burst, number, at, nodes)
SELECT burst, 2 * number + 2, gone_at, 0 FROM burst_resource
WHERE made_at IS NOT NULL AND gone_at IS NOT NULL AND nodes > 0"""

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables of this revision."""
    op.create_table(
        "burst_nodes",
        sa.Column("burst", sa.String(length=26), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["burst"], ["burst.id"], name=op.f("fk_burst_nodes_burst"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("burst", "number", name=op.f("pk_burst_nodes")),
    )
    with op.batch_alter_table("burst", schema=None) as batch_op:
        batch_op.add_column(sa.Column("fee", sa.BigInteger(), server_default="0", nullable=False))

    op.execute(_MADE)
    op.execute(_GONE)


def downgrade() -> None:
    """Make those of the one before."""
    with op.batch_alter_table("burst", schema=None) as batch_op:
        batch_op.drop_column("fee")

    op.drop_table("burst_nodes")
