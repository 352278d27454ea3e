"""What may be set of the service: every limit, with its default, its unit and the reason for it."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request, and one user, may ask of the service."""

    body_bytes: int = MIB
    """Bytes of a body. A batch script with its input fits; more belongs into a file on the cluster."""
    head_bytes: int = 16 * KIB
    """Bytes of all header fields and the path. Cookies and tokens need less than 4 KiB."""
    body_seconds: float = 30.0
    """Seconds for a whole body to arrive, so that slow senders do not fill the connections."""
    requests_per_second: float = 20.0
    """Requests a second and user, lasting: a page that polls twenty jobs each second."""
    burst: int = 100
    """Requests a user may make at once after a rest: one page with its parts, or a script's start."""
    rate_users: int = 10_000
    """Users whose rate is remembered at once; the one who asked longest ago is forgotten first."""
    page: int = 500
    """Jobs a page of a listing has at most."""
    default_page: int = 50
    """Jobs a page has if the request does not give `limit`."""
    bulk: int = 1000
    """Jobs that one request may cancel."""
    bulk_submit: int = 100
    """Jobs that one request may submit: to check them takes as long as others wait for an answer."""


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What a submitted job may have."""

    command_bytes: int = 128 * KIB
    """Bytes of the command with its arguments: ARG_MAX's usual limit for one argument."""
    environment_bytes: int = 64 * KIB
    """Bytes of all names and values of the environment."""
    environment_entries: int = 1000
    """Variables of the environment."""
    active: int = 1000
    """Jobs of one user that have not ended, where no quota gives another number."""
    key_seconds: float = 86_400.0
    """Seconds for which an Idempotency-Key is remembered: a client gives up before."""
    input_bytes: int = 512 * KIB
    """Bytes of a script, or of the standard input that a request carries: both are stored with the job."""


@dataclass(frozen=True, slots=True)
class ClusterLimits:
    """How the service speaks to one instance."""

    threads: int = 8
    """Calls under way at once: more are no faster, as measured on both engines."""
    waiting: int = 200
    """Calls that may wait for a thread; more are refused, so that a slow broker does not gather requests."""
    call_seconds: float = 30.0
    """Seconds after which a request stops waiting for the instance's answer."""
    first_retry: float = 0.5
    """Seconds to the first attempt to connect again; each further one waits twice as long."""
    last_retry: float = 30.0
    """Seconds between two attempts at most."""
    batch_seconds: float = 0.1
    """Seconds between two writes of the projection: a change is in the database within 0.2 s."""
    batch_changes: int = 2000
    """Changes in one write at most: a transaction stays short while others wait for it."""
    lease_seconds: float = 15.0
    """Seconds for which one of several service processes is the one that writes the projection, unless it
    goes on: so long it is not written after that one has died."""
    claim_seconds: float = 30.0
    """Seconds for which a request is a process's to submit, unless it goes on. After that one has died a
    client waits so long: less than the minute in which ours try again, more than a slow process stalls."""
    snapshot_seconds: float = 1.0
    """Seconds for which nodes and queues are answered from memory."""
    cached_jobs: int = 20_000
    """Jobs a cluster whose records are kept in memory."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of the service."""

    requests: RequestLimits = RequestLimits()
    jobs: JobLimits = JobLimits()
    clusters: ClusterLimits = ClusterLimits()
