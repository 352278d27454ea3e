"""How long one waits after passwords that were wrong: 1, 2, 4 … 900 s. No I/O; time is passed in.

An attempt is counted before its password is checked, so that a thousand at once are not a thousand guesses:
of those that come together the second still gets through, the third waits.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_DELAY = 900.0
"""Seconds. A guesser who waits it out has 96 guesses a day."""
FORGET_AFTER = 3600.0
"""Seconds without an attempt after which the count starts anew."""


@dataclass(frozen=True, slots=True)
class LoginFailures:
    """The attempts that were not followed by a success, of one name or one address."""

    count: int = 0
    next_at: float = 0.0
    """When the next attempt is accepted, in epoch seconds."""


def delay(count: int) -> float:
    """Return for how many seconds one waits after so many failures in a row."""
    return min(2.0 ** min(count - 1, 30), MAX_DELAY) if count > 0 else 0.0


def wait(failures: LoginFailures, now: float) -> float:
    """Return in how many seconds an attempt is accepted; 0 if now."""
    seconds = max(0.0, failures.next_at - now)
    return seconds if seconds <= MAX_DELAY else 0.0  # the clock was put back


def counted(failures: LoginFailures, now: float) -> LoginFailures:
    """Return the failures with an attempt that is about to be checked.

    Raises ValueError if it has to wait.
    """
    if wait(failures, now) > 0:
        raise ValueError("an attempt that has to wait is not counted")
    count = 0 if now - failures.next_at > FORGET_AFTER else failures.count
    return LoginFailures(count + 1, now + delay(count))


def failed(failures: LoginFailures, now: float) -> LoginFailures:
    """Return the failures once a counted attempt proved wrong."""
    return LoginFailures(failures.count, max(failures.next_at, now + delay(failures.count)))


def forgiven(failures: LoginFailures, now: float) -> LoginFailures:
    """Return the failures of an address without a counted attempt that proved right.

    Only that one: who has an account here must not clear with it the count of his guesses at others.
    """
    count = max(0, failures.count - 1)
    return LoginFailures(count, min(failures.next_at, now + delay(count)) if count else now)
