"""A MiniCluster's instance, through its lead's API, with the keys for jobs: no right to run commands in pods.

It needs no more than these rights: to get, list and watch MiniClusters, and to get the one Secret with the
keys for jobs in the operator's namespace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.rpc_instance import RpcInstance
from minicluster.lead_client.connection import Address
from minicluster.lead_client.errors import LeadTokenError
from minicluster.lead_client.lead_channel import LeadChannel
from minicluster.plan.constants import LEAD_API_PORT
from minicluster.plan.objects.keys import lead_dns_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.instance.port import Instance
    from minicluster.lead_client.purpose_keys import PurposeKeys


def open_instance(
    uid: str, host: str, keys: Sequence[PurposeKeys], *, called: str = "", port: int = LEAD_API_PORT
) -> Instance:
    """Connect to the instance of the MiniCluster with this UID, whose lead has this DNS name or address.

    `keys` are those for jobs, the newest first. After they were replaced, leads know the new ones within two
    minutes; until then the former ones are good. `called` names the MiniCluster in messages. Blocks for some
    seconds, or half a minute where the lead's broker hangs.

    Raises LeadError; InstanceGone where the lead's broker does not answer.
    """
    address = Address(host, port, lead_dns_name(uid))
    uri = f"MiniCluster {called or uid}"
    for number, each in enumerate(keys, 1):
        try:
            channel = LeadChannel(address, each.trust(), each.token(uid))
        except LeadTokenError:
            if number == len(keys):
                raise
        else:
            return RpcInstance(LinesEndpoint(uri, channel, inherits_environment=False))
    raise LeadTokenError("there are no keys for jobs")
