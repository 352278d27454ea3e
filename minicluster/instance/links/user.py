"""Links of one user, over an endpoint of the instance's owner: nothing that they send is the owner's."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, NoReturn

from minicluster.broker_link.errors import NotAllowed
from minicluster.broker_link.users import uid_problem

if TYPE_CHECKING:
    from minicluster.broker_link.link import JSON, BrokerLink, Callback
    from minicluster.instance.links.shared import Endpoint, SharedLinks


class UserEndpoint:
    """The endpoint of a user; see `Endpoint`. Closing it leaves the owner's open."""

    inherits_environment = False

    def __init__(self, endpoint: Endpoint, uid: int) -> None:
        self.uri = endpoint.uri
        self.user: int | None = uid
        self._uid = uid
        self._endpoint = endpoint

    def link(self) -> UserLink:
        """Return a new link of this user's."""
        return UserLink(self._endpoint.link(), self._uid)

    def close(self) -> None:
        """Do nothing: the owner closes the connection."""


class UserLink:
    """A link whose every request is a user's; see `BrokerLink`."""

    def __init__(self, link: BrokerLink, uid: int) -> None:
        self.engine = link.engine
        self._link = link
        self._uid = uid

    def _check(self, topic: str, user: int | None) -> None:
        if user not in (None, self._uid):
            raise _not_allowed(topic, f"uid {self._uid} cannot ask for uid {user}")

    def rpc(self, topic: str, payload: JSON, timeout: float | None = None, user: int | None = None) -> JSON:
        """Return the one answer."""
        self._check(topic, user)
        return self._link.rpc(topic, payload, timeout, self._uid)

    def stream(self, topic: str, payload: JSON, callback: Callback, user: int | None = None) -> int:
        """Ask for a stream of answers."""
        self._check(topic, user)
        return self._link.stream(topic, payload, callback, self._uid)

    def cancel(self, number: int) -> None:
        """Ask for no more of a stream."""
        self._link.cancel(number)

    def dispatch(self, timeout: float | None) -> None:
        """Wait for answers, for `wake`, or for `timeout` seconds."""
        self._link.dispatch(timeout)

    def wake(self) -> None:
        """Have `dispatch` return."""
        self._link.wake()

    def user_refusal(self, uid: int) -> str:
        """Return that a user asks for himself alone."""
        return f"uid {self._uid} cannot ask for uid {uid}"

    def submit(
        self, jobspec: JSON, urgency: int, flags: int = 0, timeout: float | None = None  # noqa: ARG002
    ) -> NoReturn:  # fmt: skip
        """Raise NotAllowed: the link would sign as the owner, whose job it would be."""
        raise _not_allowed(
            "submit", f"a job of uid {self._uid} needs a jobspec that he has signed, which is not offered yet"
        )

    def request_submit(self, jobspec: JSON, urgency: int, flags: int, callback: Callback) -> NoReturn:  # noqa: ARG002
        """Raise NotAllowed, as `submit` does."""
        self.submit(jobspec, urgency, flags)

    def dump(self, path: str) -> NoReturn:  # noqa: ARG002
        """Raise NotAllowed: a dump has everybody's jobs."""
        raise _not_allowed("dump", "only the instance's owner may save its data")

    def close(self) -> None:
        """Hang up; the instance goes on."""
        self._link.close()


def of_user(links: SharedLinks, endpoint: Endpoint, uid: int) -> UserEndpoint:
    """Return the endpoint for a user, once the instance takes requests of him. Raises NotAllowed."""
    with links.borrowed() as link:
        refusal = uid_problem(uid) or link.user_refusal(uid)
    if refusal:
        raise _not_allowed("as_user", refusal)
    return UserEndpoint(endpoint, uid)


def _not_allowed(topic: str, words: str) -> NotAllowed:
    return NotAllowed(topic, errno.EPERM, words)
