"""The lead broker: membership, the job engine, the initial program, and the end of the instance."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from broker_config.formats import resource_set
from broker_config.formats.bootstrap import lead_host
from minicluster.embedded.broker.base import BrokerBase
from minicluster.embedded.broker.engine import LeadEngine, build_lead_services
from minicluster.embedded.broker.forwarding import LeadSide
from minicluster.embedded.broker.instance_state import InstanceState
from minicluster.embedded.broker.membership import Membership
from minicluster.embedded.broker.modules import Modules
from minicluster.embedded.broker.program import InitialProgram
from minicluster.embedded.errors import BootError, ConfigurationError, DumpError
from minicluster.embedded.execution.lead.cpu_table import CpuTable
from minicluster.embedded.execution.lead.execution import Execution
from minicluster.embedded.execution.listener import TcpListener
from minicluster.embedded.execution.rank.tasks import Tasks
from minicluster.embedded.log import ERR, INFO, WARNING
from minicluster.embedded.overlay.overlay import LeadOverlay
from minicluster.embedded.ports import JSON, LeadContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minicluster.embedded.broker.attributes import Attributes
    from minicluster.embedded.services import RpcRequest

_GOODBYE_TIMEOUT = 10.0


class LeadProcess(BrokerBase):
    """Rank 0."""

    async def run(self) -> int:
        """Run until the program ends, or a client or a signal ends the instance; return the exit code."""
        self._quorum = _wanted_quorum(self.attributes, self.position.boot.size)
        self._finished = asyncio.Event()
        self._program: InitialProgram | None = None
        self._code = 0
        self._signalled = False
        overlay = LeadOverlay(self.position.boot, self.log, self.timing)
        overlay.open()
        self.position.publish(overlay)
        self.attributes.set("broker.quorum", self._quorum)
        if overlay.endpoint:
            self.attributes.set("tbon.endpoint", overlay.endpoint)
        self._modules = Modules(self.config, self.uri, self.log, self.reaper)
        self.registry.register("shutdown.start", self._shutdown)
        self.registry.register("broker.ping", lambda request: {**request.payload, "rank": self.rank})
        self._state = InstanceState(self.log, self.registry)
        try:
            engine, tasks = await self._begin(overlay)
            await self._serve()
            await self._cleanup(engine, tasks)
            await overlay.shutdown(_GOODBYE_TIMEOUT, final=not self._signalled)
            engine.close()
        finally:
            self._finished.set()
            await asyncio.sleep(0)  # lets streams of shutdown.start send their last response
            await self._modules.close()
            await self.close()
            overlay.close()
        return self._code

    async def _begin(self, overlay: LeadOverlay) -> tuple[LeadEngine, Tasks]:
        resources = self.position.resources
        assert resources is not None  # noqa: S101 - boot.find gives the lead one
        cpus = CpuTable(resource_set.nodes_of(resources))
        execution = Execution(overlay, cpus, self.log)
        tasks = Tasks(overlay, self.task_settings())
        engine = build_lead_services(self._context(execution, resources), self.registry)
        self.attributes.set("minicluster.queue-policy", engine.policy)
        if self.enforcer.way:
            self.attributes.set("minicluster.cpu-quotas", self.enforcer.way)
        execution.register(self.registry)
        forwarding = LeadSide(overlay, self.registry)
        membership = Membership(overlay, engine.membership, self.position.boot.hosts, cpus)
        membership.on_gone = [execution.rank_gone, forwarding.rank_gone]
        membership.on_change = self._members_changed
        membership.register(self.registry)
        self._membership = membership
        await self.open()
        self._modules.start()
        membership.begin()
        engine.start_queue()
        return engine, tasks

    def _context(self, execution: Execution, resources: JSON) -> LeadContext:
        return LeadContext(
            config=self.config,
            R=resources,
            statedir=str(_state_directory(self.attributes, self.rundir)),
            executor=execution,
            owner=int(self.attributes.get("security.owner") or 0),
            restore=self.attributes.get("content.restore"),
            log=self.log,
            listener=TcpListener(lead_host(self.config), self.log),
            enforcement=self.enforcer.described,
        )

    async def _shutdown(self, _request: RpcRequest) -> AsyncIterator[JSON]:
        self.log(INFO, "shutdown: asked for by a client")
        self.end.set()
        yield {"log": "shutting down"}
        await self._finished.wait()

    def _members_changed(self, online: int) -> None:
        if online >= self._quorum and self._state.name == "quorum":
            self._state.enter("run")
            if not self.attributes.get("broker.rc2_none"):
                self._program = InitialProgram(self.options.program, self.uri, self.log, self.reaper)
                self._program.ended.add_done_callback(lambda _: self.end.set())
                self._program.start()

    async def _serve(self) -> None:
        warning = asyncio.get_running_loop().call_later(60, self._warn_quorum)
        await self.end.wait()
        warning.cancel()

    def _warn_quorum(self) -> None:
        if self._state.name == "quorum":
            missing = self._membership.offline()
            self.log(WARNING, f"quorum delayed: waiting for {self._quorum} brokers, offline are {missing}")

    def terminate(self, signum: int) -> None:
        """Begin a shutdown after which the lead may start again; a running program gives the exit code."""
        self._signalled = self._signalled or not self.end.is_set()
        self.log(INFO, f"signal {signum}: shutting down")
        if self._program is None:
            self._code = 128 + signum if self._state.name == "quorum" else 0
        self.end.set()

    async def _cleanup(self, engine: LeadEngine, tasks: Tasks) -> None:
        if self._program is not None:
            await self._program.stop(self.grace)
            self._code = self._program.ended.result() if self._program.ended.done() else 137
        self._state.enter("cleanup")
        await engine.drain_all(2 * self.grace + 5)
        dump = self.attributes.get("content.dump")
        if dump:
            try:
                engine.dump(dump)
            except DumpError as error:
                self.log(ERR, f"content.dump: {error}")
                self._code = self._code or 1
        await tasks.end_all()
        self._state.enter("shutdown")


def _wanted_quorum(attributes: Attributes, size: int) -> int:
    text = attributes.get("broker.quorum") or str(size)
    if not text.isdigit() or not 1 <= int(text) <= size:
        raise ConfigurationError(
            f"Error parsing broker.quorum attribute: {text!r} is not a number from 1 to {size}"
        )
    return int(text)


def _state_directory(attributes: Attributes, rundir: Path) -> Path:
    """Return the directory of the job data; make it, and check that it can be written."""
    given = attributes.get("statedir")
    path = Path(given) if given else rundir / "state"
    attributes.set("statedir", path)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"x" * 4096)
            probe.flush()
    except OSError as error:
        raise BootError(f"statedir {path}: cannot write there: {error.strerror}") from error
    return path
