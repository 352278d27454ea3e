"""The answers of routes, by their names of release 0.1.0."""

from minicluster.lead_server.routes import Audience, Pieces, Text

__all__ = ["Audience", "Pieces", "Text"]
