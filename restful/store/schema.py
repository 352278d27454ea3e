"""This service's schema, with the tables of every file here."""

from __future__ import annotations

import importlib
import pkgutil

import restful.store
from minicluster.database import Schema
from restful.store.metadata import METADATA

# A table is in METADATA once its file was imported.
for _each in pkgutil.iter_modules(restful.store.__path__):
    if not _each.ispkg:
        importlib.import_module(f"restful.store.{_each.name}")

SCHEMA = Schema("restful", METADATA, "restful.store.migrations")
