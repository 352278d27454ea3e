"""The errors of a client of the lead API.

LeadError               a lead does not answer, or not as it should; the message is for users
├── LeadPortClosedError  the lead's host is there, and nothing listens on its port
├── LeadTokenError       the lead does not accept the token that was shown
├── LeadTooOldError      the lead's release does not offer what was asked for
└── LeadBusyError        as many connections of this kind are open as the lead admits
LeadKeysError           the keys for the lead APIs cannot be read or made, or are damaged; has what to do
"""

from __future__ import annotations

from minicluster.kube_client.errors import KubernetesError


class LeadError(KubernetesError):
    """A lead broker's API does not answer, or not as it should; the message is for users."""


class LeadPortClosedError(LeadError):
    """The lead's host is there, and nothing listens on its port: a broker that starts, or has ended."""


class LeadTokenError(LeadError):
    """The lead does not accept the token that was shown."""


class LeadTooOldError(LeadError):
    """The lead's release does not offer what was asked for."""


class LeadBusyError(LeadError):
    """As many connections of this kind are open as the lead admits."""


class LeadKeysError(KubernetesError):
    """The keys for the lead APIs cannot be read or made, or are damaged; the message has what to do."""
