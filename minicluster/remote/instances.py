"""Access to a MiniCluster's instance, through its lead's pod and with the user's own rights."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from minicluster.instance.errors import InstanceGone
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.rpc_instance import RpcInstance
from minicluster.kube_client.errors import ApiError, ApiUnreachableError, NotRunningError, UserError
from minicluster.remote import lead
from minicluster.remote.exec_channel import ExecChannel

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from minicluster.remote.session import NamespaceSession

T = TypeVar("T")


async def ask(session: NamespaceSession, name: str, work: Callable[[Instance], T]) -> T:
    """Run `work` with a MiniCluster's instance in a thread, and return its result.

    Raises MissingError, NotRunningError (also where the instance ends meanwhile), LostError, and what `work`
    raises.
    """
    container = await lead.container(session, name)
    async with session.client.pods.execute(container, lead.visit("relay")) as stream:
        channel = ExecChannel(stream)
        async with channel.carried():
            try:
                return await asyncio.to_thread(_done, name, channel, work)
            except InstanceGone as error:
                gone = error
    raise await _why(session, name, channel.lost, gone)


async def _why(session: NamespaceSession, name: str, lost: UserError | None, gone: InstanceGone) -> Exception:
    """Return the error of an instance that went away: its MiniCluster's state, else the connection's end."""
    broke_off = lost if lost is not None and str(lost) in str(gone) else None
    try:
        await lead.container(session, name)
    except UserError as state:
        return state
    except (ApiError, ApiUnreachableError):
        return broke_off or gone
    status = f"`minicluster status {name} --on kubernetes -n {session.namespace}`"
    return broke_off or NotRunningError(f"{gone}; {status} shows how it is")


def _done(name: str, channel: ExecChannel, work: Callable[[Instance], T]) -> T:
    with RpcInstance(LinesEndpoint(f"cluster {name}", channel, inherits_environment=False)) as instance:
        return work(instance)
