"""Authors and books, as in the migrations that do not fail."""

from tests.database.library_migrations.v0001_authors_and_books import (
    down_revision,
    downgrade,
    revision,
    upgrade,
)

__all__ = ["down_revision", "downgrade", "revision", "upgrade"]
