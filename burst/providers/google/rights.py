"""Which rights the credentials lack in a project: asked of Google before anything is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burst.providers.google.credentials import GoogleClients

_SERVICE = "https://cloudresourcemanager.googleapis.com"
OK = 200


def missing(clients: GoogleClients, project: str, permissions: Sequence[str]) -> list[str]:
    """Return those that are not granted; none where Google does not answer that, as its service is off."""
    body = {"permissions": list(permissions)}
    with clients.post(_SERVICE, f"/v1/projects/{project}:testIamPermissions", body) as answer:
        if answer.status_code != OK:
            return []
        granted = set(answer.json().get("permissions", ()))
    return [each for each in permissions if each not in granted]
