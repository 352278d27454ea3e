"""The errors of routes, by their names of release 0.1.0."""

from minicluster.broker_link.errors import InstanceError as DoorError  # the root of them all
from minicluster.broker_link.errors import InstanceGone as BrokerGone
from minicluster.broker_link.errors import Refused
from minicluster.lead_server.errors import BadRequest, FilesUnusable, Unproven

__all__ = ["BadRequest", "BrokerGone", "DoorError", "FilesUnusable", "Refused", "Unproven"]
