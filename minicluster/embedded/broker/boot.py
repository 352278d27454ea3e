"""A broker's rank and instance: from [bootstrap], from an outer instance's PMI, or an instance of one."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import zmq

from broker_config.formats import resource_set
from minicluster.embedded import configuration
from minicluster.embedded.client import BrokerClient
from minicluster.embedded.configuration import Bootstrap, Certificate
from minicluster.embedded.errors import BootError, EmbeddedError
from minicluster.embedded.execution.pmi import PmiConnection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.overlay.overlay import LeadOverlay
    from minicluster.embedded.ports import JSON

_LOOPBACK = "127.0.0.1"


@dataclass(slots=True)
class BrokerPosition:
    """The position of a broker in its instance, and of the instance in an outer one."""

    boot: Bootstrap
    resources: JSON | None
    """R, on the lead."""
    level: int = 0
    """How many outer instances there are."""
    jobid: str | None = None
    """The id in the outer instance."""
    parent_uri: str | None = None
    """The address of the outer instance."""
    pmi: PmiConnection | None = None

    def publish(self, overlay: LeadOverlay) -> None:
        """Send the other brokers of a sub-instance the lead's endpoint and the common certificate, by PMI."""
        if self.pmi is None:
            return
        if self.boot.size > 1 and self.boot.certificate is not None:
            self.pmi.put("minicluster.endpoint", overlay.endpoint)
            self.pmi.put("minicluster.public", self.boot.certificate.public_key)
            self.pmi.put("minicluster.secret", self.boot.certificate.secret_key)
            self.pmi.barrier()
        self.pmi.close()


def find(config: JSON, hostname: str, environ: Mapping[str, str]) -> BrokerPosition:
    """Return this broker's position. Ranks above 0 of a sub-instance wait for rank 0."""
    boot = configuration.bootstrap(config, hostname)
    if boot is not None:
        return BrokerPosition(boot, _configured(config, boot))
    connection = PmiConnection.from_environment(environ)
    if connection is not None:
        return _sub_instance(config, connection, hostname, environ)
    boot = Bootstrap(0, (hostname,), None, None, None)
    return BrokerPosition(boot, _configured(config, boot))


def _configured(config: JSON, boot: Bootstrap) -> JSON | None:
    if boot.rank:
        return None
    return configuration.resources(config, boot.hosts) or configuration.discovered(boot.hosts)


def _sub_instance(
    config: JSON, connection: PmiConnection, hostname: str, environ: Mapping[str, str]
) -> BrokerPosition:
    outer = Outer.of(environ)
    level, jobid = (outer.level + 1, outer.jobid) if outer else (0, None)
    uri = outer.uri if outer else None
    if connection.rank:
        connection.barrier()
        certificate = Certificate(connection.get("minicluster.public"), connection.get("minicluster.secret"))
        endpoint = connection.get("minicluster.endpoint")
        connection.close()
        boot = Bootstrap(connection.rank, (hostname,) * connection.size, None, endpoint, certificate)
        return BrokerPosition(boot, None, level, jobid, uri)
    boot = Bootstrap(0, (hostname,) * connection.size, None, None, None)
    resources = configuration.resources(config, boot.hosts)
    if outer is not None:
        inherited = rerank(outer.resources(), connection.size)
        if inherited is not None:
            names = resource_set.hosts_of(inherited)
            boot = replace(boot, hosts=tuple(names))
            resources = resources or inherited
    if connection.size > 1:
        public, secret = zmq.curve_keypair()
        bind = f"tcp://{outer.address() if outer else _LOOPBACK}:*"
        boot = replace(boot, bind=bind, certificate=Certificate(public.decode(), secret.decode()))
    return BrokerPosition(
        boot, resources or configuration.discovered(boot.hosts), level, jobid, uri, connection
    )


def rerank(resources: JSON, size: int) -> JSON | None:
    """Return the outer job's R with ranks from 0 on; None where its ranks are not as many as brokers."""
    return resource_set.reranked(resources) if len(resource_set.ranks_of(resources)) == size else None


@dataclass(frozen=True, slots=True)
class Outer:
    """The instance that runs this broker as a job."""

    uri: str
    jobid: str
    level: int

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Outer | None:
        """Return the outer instance, or None where `environ` is not that of a Flux job."""
        uri, jobid = environ.get("FLUX_URI"), environ.get("FLUX_JOB_ID")
        if not uri or not jobid:
            return None
        return cls(uri, jobid, int(_ask(uri, "attr.get", {"name": "instance-level"}).get("value", 0)))

    def resources(self) -> JSON:
        """Return the R of the job that is this sub-instance."""
        from broker_config.formats.jobid import parse  # noqa: PLC0415 - only a sub-instance's lead needs it

        answer = _ask(self.uri, "job-info.lookup", {"id": parse(self.jobid), "keys": ["R"], "flags": 1})
        found: JSON = answer["R"]
        return found

    def address(self) -> str:
        """Return this host's address for the job's other hosts; loopback where the outer instance uses it."""
        endpoint = _ask(self.uri, "attr.get", {"name": "tbon.endpoint"}).get("value", "")
        host = urlsplit(endpoint).hostname or _LOOPBACK
        try:
            if ipaddress.ip_address(host).is_loopback:
                return _LOOPBACK
        except ValueError:
            pass  # a host name
        try:
            return socket.gethostbyname(socket.gethostname())
        except OSError:
            return _LOOPBACK


def _ask(uri: str, topic: str, payload: Mapping[str, Any]) -> JSON:
    """Send one request to the outer instance, wait, and return the answer."""
    try:
        with BrokerClient(uri) as client:
            return client.rpc(topic, dict(payload))
    except EmbeddedError as error:
        raise BootError(f"bootstrap: the outer instance at {uri}: {topic}: {error}") from error
