"""A MiniCluster's instance, through its lead's API, with keys for one purpose: no right to exec into pods.

It needs no more than these rights: to get, list and watch MiniClusters, and to get the one Secret with the
keys for jobs, or with those for bursts, in the operator's namespace.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.rpc_instance import RpcInstance
from minicluster.lead_client.connection import Address, connected
from minicluster.lead_client.errors import LeadTokenError
from minicluster.lead_client.lead_channel import LeadChannel
from minicluster.lead_client.machine_access import MachineAccess
from minicluster.lead_server.purposes import CURVE_CERTIFICATE
from minicluster.plan.constants import LEAD_API_PORT
from minicluster.plan.objects.keys import lead_dns_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.instance.port import Instance
    from minicluster.lead_client.purpose_keys import PurposeKeys

T = TypeVar("T")
MAX_CERTIFICATE_BYTES = 16 << 10


def open_instance(
    uid: str, host: str, keys: Sequence[PurposeKeys], *, called: str = "", port: int = LEAD_API_PORT
) -> Instance:
    """Connect to the instance of the MiniCluster with this UID, whose lead has this DNS name or address.

    `keys` are those for jobs, or for bursts, the newest first. After they were replaced, leads know the new
    ones within two minutes; until then the former ones are good. `called` names the MiniCluster in messages.
    Blocks for some seconds, or half a minute where the lead's broker hangs.

    Raises LeadError; InstanceGone where the lead's broker does not answer.
    """
    address = Address(host, port, lead_dns_name(uid))

    def connect(each: PurposeKeys) -> Instance:
        channel = LeadChannel(address, each.trust(), each.token(uid), each.purpose)
        uri = f"MiniCluster {called or uid}"
        return RpcInstance(LinesEndpoint(uri, channel, inherits_environment=False))

    return _by_any(keys, connect)


def read_curve_certificate(
    uid: str, host: str, keys: Sequence[PurposeKeys], *, port: int = LEAD_API_PORT
) -> str:
    """Return the CURVE certificate of a MiniCluster, by which brokers join. It is secret.

    `keys` are those for bursts, as in `open_instance`. Blocks for some seconds; no event loop runs in the
    calling thread. Raises LeadError.
    """
    address = Address(host, port, lead_dns_name(uid))
    return _by_any(keys, lambda each: asyncio.run(_read_certificate(address, each, uid))[0])


def read_machine_access(
    uid: str, host: str, keys: Sequence[PurposeKeys], *, port: int = LEAD_API_PORT
) -> MachineAccess:
    """Return how machines of bursts get the certificate of a MiniCluster, as its lead shows itself now.

    As `read_curve_certificate`, also in what it raises.
    """
    address = Address(host, port, lead_dns_name(uid))

    def read(each: PurposeKeys) -> MachineAccess:
        _, fingerprint = asyncio.run(_read_certificate(address, each, uid))
        return MachineAccess(address.name, fingerprint, each.token(uid))

    return _by_any(keys, read)


async def _read_certificate(address: Address, keys: PurposeKeys, uid: str) -> tuple[str, str]:
    """Return the certificate, and the fingerprint of that by which its lead is known."""
    async with connected(address, keys.trust()) as connection:
        head = await connection.request("GET", CURVE_CERTIFICATE, keys.token(uid))
        if head.status == HTTPStatus.OK:
            text = (await connection.content(MAX_CERTIFICATE_BYTES)).decode()
            return text, connection.fingerprint
        if head.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise LeadTokenError(f"the lead API at {address} does not accept the token for {keys.purpose}")
        if head.status == HTTPStatus.NOT_FOUND:
            raise connection.error(
                "does not give its CURVE certificate: its brokers were begun without spec.bursting, or by an"
                " older release; `kubectl delete job NAME` begins them anew"
            )
        raise connection.error(f"answers {head.status}: {await connection.text()}")


def _by_any(keys: Sequence[PurposeKeys], work: Callable[[PurposeKeys], T]) -> T:
    """Do it with the first keys that the lead accepts. Raises LeadTokenError where it accepts none."""
    for number, each in enumerate(keys, 1):
        try:
            return work(each)
        except LeadTokenError:
            if number == len(keys):
                raise
    raise LeadTokenError("there are no keys for the lead")
