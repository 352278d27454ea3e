"""What a user is told who may not do something: the server's words, and which role to ask for."""

from __future__ import annotations

import pytest

from minicluster.kube_client.errors import ApiError
from minicluster.remote.session import explained

OF = 'User "joe" cannot'
WITHIN = 'in API group "flux-framework.org" in the namespace "team-a"'
ROLE = " for the role edit in namespace team-a"
DENIED = {
    "scale": (f'{OF} patch resource "miniclusters/scale" {WITHIN}', "patch on miniclusters/scale", ROLE),
    "down": (f'{OF} delete resource "miniclusters" {WITHIN}', "delete on miniclusters", ROLE),
    "up": (f'{OF} patch resource "miniclusters" {WITHIN}', "patch on miniclusters", ROLE),
    "list of all namespaces": (
        f'{OF} list resource "miniclusters" in API group "flux-framework.org" at the cluster scope',
        "list on miniclusters",
        "",
    ),
}


@pytest.mark.parametrize(("words", "verb", "role"), DENIED.values(), ids=DENIED)
def test_a_denial_names_the_verb_and_the_role(words: str, verb: str, role: str) -> None:
    """The namespace is the one in which it was refused."""
    assert str(explained(ApiError(403, "Forbidden", words), "other")) == (
        f"{words}. Needed is the verb {verb}: ask whoever administers the cluster{role}"
    )
