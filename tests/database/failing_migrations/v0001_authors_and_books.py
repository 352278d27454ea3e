"""Authors and books."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "author",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_author"),
    )
    op.create_table(
        "book",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("author", sa.Integer, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["author"], ["author.id"], name="fk_book_author", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_book"),
    )


def downgrade() -> None:
    op.drop_table("book")
    op.drop_table("author")
