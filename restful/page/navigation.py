"""The pages that every page leads to, in the order in which they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from restful.identity.principal import Principal


class NavigationEntry(NamedTuple):
    """One link."""

    path: str
    label: str
    scope: str = ""
    """Shown to those alone who have it; empty: to everybody who is logged in."""


ENTRIES = [
    NavigationEntry("/jobs", "Jobs", "jobs:read"),
    NavigationEntry("/jobs/new", "Submit", "jobs:submit"),
    NavigationEntry("/nodes", "Nodes", "clusters:read"),
    NavigationEntry("/usage", "Usage", "jobs:read"),
    NavigationEntry("/account", "Account"),
    NavigationEntry("/admin", "Admin", "users:read"),
]


def entries(principal: Principal) -> list[NavigationEntry]:
    """Return the links of a user."""
    return [each for each in ENTRIES if not each.scope or principal.may(each.scope)]
