"""First tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables of this revision."""
    op.create_table(
        "burst",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("cluster", sa.String(length=63), nullable=False),
        sa.Column("cluster_name", sa.String(length=127), nullable=False),
        sa.Column("slot", sa.String(length=63), nullable=False),
        sa.Column("provider", sa.String(length=63), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("machine", sa.String(length=100), nullable=False),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("spot", sa.Boolean(), nullable=False),
        sa.Column("price", sa.BigInteger(), nullable=False),
        sa.Column("instance", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("state_since", sa.Double(), nullable=False),
        sa.Column("outcome", sa.String(length=12), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_try", sa.Double(), nullable=False),
        sa.Column("idle_since", sa.Double(), nullable=True),
        sa.Column("empty_since", sa.Double(), nullable=True),
        sa.Column("stopping", sa.Boolean(), nullable=False),
        sa.Column("amounts", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_burst")),
    )
    with op.batch_alter_table("burst", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_burst_cluster"), ["cluster"], unique=False)
        batch_op.create_index(
            "uq_burst_slot",
            ["cluster", "slot"],
            unique=True,
            sqlite_where=sa.text("(state NOT IN ('requested', 'deleted'))"),
            postgresql_where=sa.text("(state NOT IN ('requested', 'deleted'))"),
        )

    op.create_table(
        "burst_installation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("installation", sa.String(length=26), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_burst_installation")),
    )
    op.create_table(
        "burst_lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("holder", sa.String(length=100), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_burst_lease")),
    )
    op.create_table(
        "burst_location",
        sa.Column("provider", sa.String(length=63), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("first_used", sa.Double(), nullable=False),
        sa.Column("empty_since", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("provider", "location", name=op.f("pk_burst_location")),
    )
    op.create_table(
        "burst_job",
        sa.Column("burst", sa.String(length=26), nullable=False),
        sa.Column("job", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("user", sa.String(length=63), nullable=False),
        sa.Column("origin", sa.String(length=63), nullable=False),
        sa.Column("moved_at", sa.Double(), nullable=True),
        sa.Column("returned_at", sa.Double(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["burst"], ["burst.id"], name=op.f("fk_burst_job_burst"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("burst", "job", name=op.f("pk_burst_job")),
    )
    op.create_table(
        "burst_journal",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("burst", sa.String(length=26), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["burst"], ["burst.id"], name=op.f("fk_burst_journal_burst"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_burst_journal")),
    )
    with op.batch_alter_table("burst_journal", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_burst_journal_burst"), ["burst"], unique=False)

    op.create_table(
        "burst_reservation",
        sa.Column("burst", sa.String(length=26), nullable=False),
        sa.Column("scope", sa.String(length=140), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("is_charged", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["burst"], ["burst.id"], name=op.f("fk_burst_reservation_burst"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("burst", "scope", name=op.f("pk_burst_reservation")),
    )
    with op.batch_alter_table("burst_reservation", schema=None) as batch_op:
        batch_op.create_index("ix_burst_reservation_scope_at", ["scope", "at"], unique=False)

    op.create_table(
        "burst_resource",
        sa.Column("burst", sa.String(length=26), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("intent_at", sa.Double(), nullable=True),
        sa.Column("made_at", sa.Double(), nullable=True),
        sa.Column("gone_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["burst"], ["burst.id"], name=op.f("fk_burst_resource_burst"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("burst", "number", name=op.f("pk_burst_resource")),
    )


def downgrade() -> None:
    """Make those of the one before."""
    op.drop_table("burst_resource")
    with op.batch_alter_table("burst_reservation", schema=None) as batch_op:
        batch_op.drop_index("ix_burst_reservation_scope_at")

    op.drop_table("burst_reservation")
    with op.batch_alter_table("burst_journal", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_burst_journal_burst"))

    op.drop_table("burst_journal")
    op.drop_table("burst_job")
    op.drop_table("burst_location")
    op.drop_table("burst_lease")
    op.drop_table("burst_installation")
    with op.batch_alter_table("burst", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_burst_slot",
            sqlite_where=sa.text("(state NOT IN ('requested', 'deleted'))"),
            postgresql_where=sa.text("(state NOT IN ('requested', 'deleted'))"),
        )
        batch_op.drop_index(batch_op.f("ix_burst_cluster"))

    op.drop_table("burst")
