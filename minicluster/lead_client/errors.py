"""What can go wrong between a client and a lead broker's API.

LeadError               a lead does not answer, or not as it should; the message is for people
└── LeadPortClosedError  the lead's host is there, and nothing listens on its port
LeadKeysError           the keys for the leads' APIs cannot be had, or are damaged; says what to do
"""

from __future__ import annotations

from minicluster.kube_client.errors import KubernetesError


class LeadError(KubernetesError):
    """A lead broker's API does not answer, or not as it should; the message is for people."""


class LeadPortClosedError(LeadError):
    """The lead's host is there, and nothing listens on its port: a broker that starts, or has ended."""


class LeadKeysError(KubernetesError):
    """The keys for the leads' APIs cannot be had, or are damaged; the message says what to do."""
