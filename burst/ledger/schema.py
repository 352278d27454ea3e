"""The ledger's schema, with the tables of every file here."""

from __future__ import annotations

import burst.ledger
from burst.ledger.metadata import METADATA
from minicluster.database import Schema

SCHEMA = Schema.of_package("burst", METADATA, burst.ledger)
