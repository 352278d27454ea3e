"""The errors of a client of the lead API.

LeadError               a lead does not answer, or not as it should; the message is for users
└── LeadPortClosedError  the lead's host is there, and nothing listens on its port
LeadKeysError           the keys for the lead APIs cannot be read or made, or are damaged; has what to do
"""

from __future__ import annotations

from minicluster.kube_client.errors import KubernetesError


class LeadError(KubernetesError):
    """A lead broker's API does not answer, or not as it should; the message is for users."""


class LeadPortClosedError(LeadError):
    """The lead's host is there, and nothing listens on its port: a broker that starts, or has ended."""


class LeadKeysError(KubernetesError):
    """The keys for the lead APIs cannot be read or made, or are damaged; the message has what to do."""
