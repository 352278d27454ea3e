"""Lead servers on this machine, each in front of a broker, with the keys of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import JOBS, secret_name
from minicluster.lead_server import files, instance_route
from minicluster.lead_server.purposes import INSTANCE
from minicluster.lead_server.routes import Audience
from minicluster.lead_server.server import Server
from minicluster.plan.objects.keys import FIRST_GENERATIONS, Generations
from restful.kubernetes.lead_instances import LeadEndpoint
from tests.lead.serving import serving
from tests.ports import free_port

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from restful.kubernetes.observed import FoundCluster
    from tests.conformance.laboratory import Laboratory
    from tests.devcluster import Api


@dataclass
class RunningLead:
    """A lead server."""

    server: Server
    tokens: Path
    running: AbstractContextManager[None]


class Fleet:
    """The leads by the UIDs of their MiniClusters. Others are at a port where nobody listens."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = LeadAuthority.make()
        self.leads: dict[str, RunningLead] = {}
        self._nobody = free_port()
        self.log: list[str] = []

    def start(self, uid: str, laboratory: Laboratory) -> None:
        """Have a lead for a MiniCluster."""
        own, tokens = self._folder / uid / "keys", self._folder / uid / "tokens"
        keys = self.authority.issue(uid)
        named = {"door.crt": keys.certificate, "door.key": keys.key, "door.token": keys.token}
        for folder, content in ((own, named), (tokens, keys.tokens)):
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in content.items():
                (folder / name).write_text(text)
        credentials = files.ServerCredentials(str(own), self.log.append, tokens=str(tokens))
        routes = instance_route.routes(laboratory._lead_link, credentials)
        server = Server(0, credentials, routes, self.log.append, {INSTANCE: Audience.JOBS})
        running = serving(server)
        running.__enter__()
        self.leads[uid] = RunningLead(server, tokens, running)

    def renew(self, uid: str, generations: Generations) -> None:
        """Give a lead other tokens, as a kubelet does after the operator."""
        for name, text in self.authority.issue(uid, (), generations).tokens.items():
            (self.leads[uid].tokens / name).write_text(text)

    def stop(self, uid: str) -> None:
        """End a lead."""
        self.leads.pop(uid).running.__exit__(None, None, None)

    def close(self) -> None:
        """End all of them."""
        for uid in list(self.leads):
            self.stop(uid)

    def endpoint(self, cluster: FoundCluster) -> LeadEndpoint:
        """Return where the lead of a MiniCluster is."""
        lead = self.leads.get(cluster.uid)
        return LeadEndpoint("127.0.0.1", self._nobody if lead is None else lead.server.port)

    def publish(self, api: Api, namespace: str, generations: Generations = FIRST_GENERATIONS) -> None:
        """Leave the keys for jobs, as an operator does."""
        item = self.authority.purpose(JOBS, generations.of(JOBS)).secret(namespace)
        api.apply(f"/api/v1/namespaces/{namespace}/secrets/{secret_name(JOBS)}", item)
