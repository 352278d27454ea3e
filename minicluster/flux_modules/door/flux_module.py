"""The entry of the module `minicluster-door` of release 0.1.0."""

from minicluster.lead_server.flux_module import main

__all__ = ["main"]
