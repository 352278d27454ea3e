"""The limits of logins, tokens and sessions: each with its default, unit and reason."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """Times in seconds."""

    issuer: str = "http://127.0.0.1:8080"
    """The address where users reach this service, without a slash at its end: `iss` of access tokens."""
    audience: str = "minicluster"
    """`aud` of access tokens. Another service of the same issuer must not accept ours, nor we its."""
    no_auth: bool = False
    """Whether a request without a token is the admin's: on loopback, on a machine of one user alone."""
    access_lifetime: float = 600.0
    """Of a JWT. It is checked without the database, so it is short."""
    refresh_lifetime: float = 30 * DAY
    """Of a refresh token that is not used: a month's holiday without a new login."""
    family_lifetime: float = 90 * DAY
    """Of all refresh tokens that follow one login: who has stolen one and uses it is out after that time."""
    session_idle: float = 12 * 3600.0
    """After which a browser's session ends that is not used: a working day."""
    session_lifetime: float = 7 * DAY
    """After which it ends however it is used (OWASP: absolute timeout): who has copied its cookie is out."""
    link_lifetime: float = 900.0
    """Of a link that logs in once: it is typed off a terminal."""
    token_lifetime: float = 90 * DAY
    """Of a personal token, unless its maker asks for another."""
    token_lifetime_max: float = 365 * DAY
    """A token that nobody remembers must end some day."""
    tokens_per_user: int = 100
    """Personal tokens that have not expired."""
    last_used_interval: float = 60.0
    """How often a token's last use is written: a write for each request would be the slowest part of it."""
    revision_interval: float = 2.0
    """How old what is remembered of users, sessions and grants may be: a revocation is seen after it."""
    signing_key_period: float = 30 * DAY
    """How long one key signs."""
    password_length_min: int = 12
    """Characters. NIST SP 800-63B asks for 8 at least, and for length rather than for kinds of characters."""
    password_length_max: int = 1024
    """Characters: hashing megabytes would be an attack."""
    logins_per_minute: float = 10.0
    """Logins by password, and codes for devices, from one address (of IPv6 its /64), lasting."""
    login_burst: int = 30
    """Of these at once after a rest: a class that begins, behind one address."""
    anonymous_per_second: float = 5.0
    """Requests from one address for what nobody needs a token for, and that writes, lasting."""
    anonymous_burst: int = 100
    """Of these at once after a rest: programs that all refresh their tokens after a break of the network."""
    wrong_tokens_per_minute: float = 10.0
    """Bearer tokens that were never issued here, from one address, lasting; they hold up no good ones."""
    wrong_token_burst: int = 60
    """Of these at once after a rest: a program with a wrong token that polls each second, for a minute."""
    argon2_memory: int = 19_456
    """KiB. With `argon2_passes` and `argon2_lanes` what OWASP recommends: 60 ms on a busy core."""
    argon2_passes: int = 2
    argon2_lanes: int = 1
    argon2_concurrency: int = 2
    """Hashes under way: more would take the processors, and 19 MiB each, from everything else."""
    argon2_waiting: int = 250
    """Logins that wait for one: those of some ten seconds."""
    session_memory: float = 90 * DAY
    """How long an ended session is kept: its address is one that its user is known at."""
