"""The errors of bursting, as one tree.

BurstError
├── AmountInvalid       a text is no amount of money
├── SettingsInvalid     the settings file is not valid; has all problems
├── BurstUnknown        no burst has this id
├── SlotTaken           a slot has a burst already
├── BudgetExceeded      a reservation would exceed a budget; names it
├── LeaseLost           another process advances bursts now
├── LeadAway            a MiniCluster's lead does not answer
│   └── ClusterGone     and never will, as the MiniCluster is gone
├── StandInRefused      no job here can stand in for one that runs elsewhere
├── SpoolRefused        what a job elsewhere wrote is not taken
└── ProviderError       a provider refused, or failed
    ├── RetryLater      for now: the same call may succeed after some time
    ├── NoCapacity      there are no machines of this kind
    ├── AccountLimitReached  the account may not have more
    ├── AccessDenied    the credentials are not good for this
    ├── NameTaken       something of somebody else has the name
    └── CallInvalid     for good: the call can never succeed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document.errors import Problem


class BurstError(Exception):
    """Root of the tree."""


class AmountInvalid(BurstError):  # noqa: N818 - named for the state it reports
    """A text is no amount of money; the message has what would be right."""


class SettingsInvalid(BurstError):  # noqa: N818 - named for the state it reports
    """The settings of the service are not valid; `problems` has each mistake, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BurstUnknown(BurstError):  # noqa: N818 - named for the state it reports
    """No burst has this id."""


class SlotTaken(BurstError):  # noqa: N818 - named for the state it reports
    """A slot has a burst already, which is not deleted yet."""


class BudgetExceeded(BurstError):  # noqa: N818 - named for what would happen
    """What is reserved and charged would exceed a budget."""


class LeaseLost(BurstError):  # noqa: N818 - named for what happened
    """Another process has the lease: nothing of this transaction is written."""


class LeadAway(BurstError):  # noqa: N818 - named for the state it reports
    """The lead of a MiniCluster does not answer: nothing is known of its jobs."""


class ClusterGone(LeadAway):
    """The MiniCluster is not there any more."""


class StandInRefused(BurstError):  # noqa: N818 - named for what happened
    """A job starts here or has ended, must not run twice, or the lead runs no jobs without resources."""


class SpoolRefused(BurstError):  # noqa: N818 - named for what happened
    """What a job elsewhere wrote is not taken here: it is too large, or its stand-in has ended."""


class ProviderError(BurstError):
    """A provider refused, or failed. A call may have taken effect all the same."""


class RetryLater(ProviderError):  # noqa: N818 - named for what is to be done
    """A call cannot be served now."""

    def __init__(self, text: str, after: float = 0.0) -> None:
        super().__init__(text)
        self.after = after
        """Seconds that the provider asks to wait; 0: it names none."""


class NoCapacity(ProviderError):  # noqa: N818 - named for the state it reports
    """There are no machines of this kind now."""


class AccountLimitReached(ProviderError):  # noqa: N818 - named for the state it reports
    """The account may not have more of this."""


class AccessDenied(ProviderError):  # noqa: N818 - named for the state it reports
    """The credentials are missing, expired, or not good for this call."""


class NameTaken(ProviderError):  # noqa: N818 - named for the state it reports
    """Something that is not of this burst has the name: it is never changed or deleted."""


class CallInvalid(ProviderError):  # noqa: N818 - named for the state it reports
    """The provider will never accept this call, as it names what cannot be."""
