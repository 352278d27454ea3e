"""What all tables of the ledger are in."""

from __future__ import annotations

from minicluster.database import named_metadata

METADATA = named_metadata()
