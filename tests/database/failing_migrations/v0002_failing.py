"""One change that can be made, and one that cannot."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    with op.batch_alter_table("author") as table:
        table.add_column(sa.Column("initial", sa.Text))
    op.execute("UPDATE no_such_table SET initial = 'x'")


def downgrade() -> None:
    """Undo nothing: it never succeeds."""
