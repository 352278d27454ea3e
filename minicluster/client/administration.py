"""One's own tokens, and what administrators do about users."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from minicluster.client.addresses import path
from minicluster.client.connection import Call
from minicluster.client.records import member, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from minicluster.client.connection import ServiceConnection

PAGE = 100


@dataclass(frozen=True, slots=True)
class PersonalToken:
    """A personal token, without its text. Times are RFC 3339."""

    id: str
    name: str
    prefix: str
    """Its first characters."""
    scopes: str
    created: str
    expires: str
    last_used: str | None = None
    last_address: str | None = None


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A personal token that was just made."""

    record: PersonalToken
    text: str = field(repr=False)
    """Nobody can show it again."""


@dataclass(frozen=True, slots=True)
class UserAccount:
    """A user. Times are RFC 3339."""

    id: str
    name: str
    role: str
    """user, operator or admin."""
    state: str
    """active, locked or disabled."""
    display: str = ""
    email: str | None = None
    created: str = ""
    has_password: bool = False


class PersonalTokens:
    """The personal tokens of the user who asks."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def all(self) -> list[PersonalToken]:
        """Return them."""
        return [read(PersonalToken, each) for each in self._connection.get("/v2/me/tokens")]

    def create(self, name: str, scopes: Iterable[str], seconds: int | None = None) -> CreatedToken:
        """Make a token that is good for so long; None: as long as the service gives. Raises Forbidden."""
        body: dict[str, Any] = {"name": name, "scopes": sorted(scopes)}
        if seconds is not None:
            body["expires_in"] = seconds
        found = self._connection.call(Call("POST", "/v2/me/tokens", body=body))
        return CreatedToken(read(PersonalToken, found), str(member(found, "token")))

    def revoke(self, id: str) -> None:  # noqa: A002 - the service's name
        """End a token. Raises NotFound."""
        self._connection.call(Call("DELETE", "/v2/me/tokens" + path(id)))


class UserAccounts:
    """The users of a service. Raises Forbidden for who is no administrator."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def all(self) -> Iterator[UserAccount]:
        """Yield them by name."""
        after = ""
        while True:
            found = self._connection.get("/v2/users", {"after": after, "limit": PAGE})
            page = [read(UserAccount, each) for each in found]
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].name

    def named(self, name: str) -> UserAccount | None:
        """Return the user of a name; None without one."""
        return next((each for each in self.all() if each.name == name), None)

    def create(self, name: str, role: str = "user", **more: str) -> UserAccount:
        """Make a user; `more` are display, email, password. Raises Conflict, Invalid."""
        body = {"name": name, "role": role, **more}
        return read(UserAccount, self._connection.call(Call("POST", "/v2/users", body=body)))

    def change(self, id: str, **values: str) -> UserAccount:  # noqa: A002 - the service's name
        """Change role, state, display, email or password of a user. Raises Conflict, Invalid, NotFound."""
        call = Call("PATCH", "/v2/users" + path(id), body=values, repeatable=True)
        return read(UserAccount, self._connection.call(call))

    def delete(self, id: str) -> None:  # noqa: A002 - the service's name
        """Delete a user with all tokens and grants. Raises Conflict, NotFound."""
        self._connection.call(Call("DELETE", "/v2/users" + path(id)))
