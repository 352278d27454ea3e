"""What an administrator sets of a project of Google Cloud."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from burst.errors import CallInvalid
from burst.providers import cloud_machines
from burst.providers.cloud_machines import PricedMachine
from minicluster.document.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burst.providers.provider import WantedBurst

NAME = r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
"""Of what Google's services name: RFC 1035."""
ZONE = r"^[a-z]+-[a-z]+[0-9]+-[a-z]$"
PROJECT = r"^([a-z][-a-z0-9.]*:)?[a-z][-a-z0-9]{4,28}[a-z0-9]$"
LABEL_VALUE = r"^[a-z0-9_-]{1,63}$"


def _endpoint(url: str) -> str:
    """Return a URL to which credentials may go: by HTTPS, or on this machine."""
    parts = urlsplit(url)
    if (
        url
        and parts.scheme != "https"
        and not (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
    ):
        raise ValueError(f"{url!r} would get credentials in clear: right would be https://…")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class GoogleMachine(PricedMachine):
    """A type of machine of Compute Engine."""

    accelerator: str = Field(
        "",
        description="Type of its GPUs, such as `nvidia-tesla-t4`, where they are attached to the machine"
        " (N1); absent: those that its type has.",
    )


def chosen(provider: str, machines: Sequence[GoogleMachine], wanted: WantedBurst) -> GoogleMachine:
    """Return the machine that a burst is to have. Raises CallInvalid where the table has none such."""
    found = cloud_machines.chosen(provider, machines, wanted.machine, wanted.nodes)
    assert isinstance(found, GoogleMachine)  # noqa: S101 - as all of the table
    if wanted.spot and not found.spot_price:
        raise CallInvalid(f"provider {provider} has no price of {found.machine} as a spot machine")
    return found


class GoogleProject(Record):
    """A project, and whose rights are used there."""

    project: str = Field(description="Id of the project that pays.", pattern=PROJECT)
    credentials_file: Path | None = Field(
        None,
        description="JSON file of a service account, or of an external account (workload identity"
        " federation). Absent: application default credentials.",
    )
    endpoint: Annotated[str, AfterValidator(_endpoint)] = Field(
        "", description="URL in place of Google's own, such as that of a rehearsal; absent: Google's own."
    )
