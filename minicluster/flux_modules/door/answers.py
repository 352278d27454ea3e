"""What routes answer, by its name of release 0.1.0."""

from minicluster.lead_server.routes import Audience, Pieces, Text

__all__ = ["Audience", "Pieces", "Text"]
