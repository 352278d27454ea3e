"""The ledger's schema, with the tables of every file here."""

from __future__ import annotations

import importlib
import pkgutil

import burst.ledger
from burst.ledger.metadata import METADATA
from minicluster.database import Schema

# A table is in METADATA once its file was imported.
for _each in pkgutil.iter_modules(burst.ledger.__path__):
    if not _each.ispkg:
        importlib.import_module(f"burst.ledger.{_each.name}")

SCHEMA = Schema("burst", METADATA, "burst.ledger.migrations")
