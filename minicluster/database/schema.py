"""What a service has in a database: its tables, and how older ones become these."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sqlalchemy import MetaData

if TYPE_CHECKING:
    from types import ModuleType


def named_metadata() -> MetaData:
    """Return metadata in which each constraint has a name, as migrations call it by that.

    A check needs a name of its own, such as `role`: it becomes `ck_user_role`.
    """
    return MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one service."""

    name: str
    """Names the table with the revision, and what is announced; two services may have one database."""
    metadata: MetaData
    migrations: str
    """The package with alembic's revisions, such as `restful.store.migrations`."""

    @classmethod
    def of_package(cls, name: str, metadata: MetaData, package: ModuleType) -> Self:
        """Return the schema with the tables of every file of a package, whose migrations are a package in it.

        A table is in the metadata once its file was imported, as it is here.
        """
        for each in pkgutil.iter_modules(package.__path__):
            if not each.ispkg:
                importlib.import_module(f"{package.__name__}.{each.name}")
        return cls(name, metadata, f"{package.__name__}.migrations")

    @property
    def version_table(self) -> str:
        """The name of the table with the revision."""
        return f"{self.name}_version"
