"""What a service has in a database: its tables, and how older ones become these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import MetaData


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one service."""

    name: str
    """Names the table with the revision, and what is announced; two services may have one database."""
    metadata: MetaData
    migrations: str
    """The package with alembic's revisions, such as `restful.store.migrations`."""

    @property
    def version_table(self) -> str:
        """The name of the table with the revision."""
        return f"{self.name}_version"
