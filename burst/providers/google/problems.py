"""Everything that is wrong with a project, until Google itself refuses to be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from burst.providers.google.credentials import GoogleAccount, GoogleClients


def problems_of(
    account: GoogleAccount, location: str, ask: Callable[[GoogleClients], Iterable[str]]
) -> list[str]:
    """Return what asking yields; an error is the last problem, after those that came before it."""
    problems: list[str] = []
    try:
        account.token(location)
        with account.visit(location) as clients:
            for each in ask(clients):
                problems.append(each)  # noqa: PERF402 - those before an error are problems, too
    except ProviderError as error:
        problems.append(str(error))
    return problems
