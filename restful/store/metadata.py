"""What all tables of this service are in."""

from __future__ import annotations

from minicluster.database import named_metadata

METADATA = named_metadata()
