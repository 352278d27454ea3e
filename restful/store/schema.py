"""This service's schema, with the tables of every file here."""

from __future__ import annotations

import restful.store
from minicluster.database import Schema
from restful.store.metadata import METADATA

SCHEMA = Schema.of_package("restful", METADATA, restful.store)
