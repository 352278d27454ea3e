"""What can go wrong at the door, as one tree.

DoorError
├── FilesUnusable    the certificate, its key or the token cannot be used; names the file
├── BadRequest       what a client sent makes no sense: HTTP's status code, and words for the client
└── Unproven         nobody vouches for who asks
"""

from __future__ import annotations

from minicluster.broker_link.errors import InstanceError


class DoorError(InstanceError):
    """Root of the tree."""


class FilesUnusable(DoorError):  # noqa: N818 - named for the state it reports
    """Without certificate, key and token there is no door."""


class BadRequest(DoorError):  # noqa: N818 - HTTP's name for it
    """What a client sent makes no sense; `code` is HTTP's."""

    def __init__(self, text: str, code: int = 400) -> None:
        self.code = code
        super().__init__(text)


class Unproven(DoorError):  # noqa: N818 - named for what is the case
    """Nobody vouches for who asks."""
