"""Logging in a device without a browser (RFC 8628): its codes, and what a poll gets. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so that no words come out, and nothing that looks like another (RFC 8628 section 6.1)."""
USER_CODE_LENGTH = 8
"""20 ** 8 codes: with twenty guesses a second one is hit after 20 years, and each lives for ten minutes."""
LIFETIME = 600.0
"""Seconds in which a code must be approved."""
INTERVAL = 5.0
"""Seconds between two polls; RFC 8628's default."""
SLOWER = 5.0
"""What a poll too many adds to the interval (section 3.5)."""
MAX_INTERVAL = 60.0
"""Seconds to which that goes at most: the code lives for ten minutes, and its user has just typed it."""


class DeviceState(StrEnum):
    """What has become of a device's code."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"


@dataclass(frozen=True, slots=True)
class PollState:
    """What is known of a device's code."""

    state: DeviceState
    expires: float
    interval: float = INTERVAL
    polled_at: float | None = None


@dataclass(frozen=True, slots=True)
class PollAnswer:
    """What a poll gets: an error of RFC 8628 section 3.5, or none, and then a token."""

    error: str
    interval: float


def poll(code: PollState, now: float) -> PollAnswer:
    """Return what a poll gets, and the interval from now on."""
    if code.state is DeviceState.USED:
        return PollAnswer("invalid_grant", code.interval)
    if now >= code.expires:
        return PollAnswer("expired_token", code.interval)
    if code.state is DeviceState.DENIED:
        return PollAnswer("access_denied", code.interval)
    if code.polled_at is not None and now - code.polled_at < code.interval:
        return PollAnswer("slow_down", min(code.interval + SLOWER, MAX_INTERVAL))
    error = "" if code.state is DeviceState.APPROVED else "authorization_pending"
    return PollAnswer(error, code.interval)


def user_code(secret: bytes) -> str:
    """Return a code that people type, from at least eight random bytes."""
    number = int.from_bytes(secret)
    letters = []
    for _ in range(USER_CODE_LENGTH):
        number, index = divmod(number, len(USER_CODE_LETTERS))
        letters.append(USER_CODE_LETTERS[index])
    return written_code("".join(letters))


def written_code(text: str) -> str:
    """Return a code as it is stored and shown, from what a user typed: capitals, a hyphen in the middle."""
    letters = "".join(each for each in text.upper() if each in USER_CODE_LETTERS)[:USER_CODE_LENGTH]
    return f"{letters[:4]}-{letters[4:]}"
