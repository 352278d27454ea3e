"""The provider: each call is one visit to Compute Engine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from burst.errors import NameTaken, ProviderError
from burst.joining.workers import LABEL_BURST, LABEL_OWNER, name_of
from burst.lifecycle.records import ResourceKey
from burst.providers import cloud_machines
from burst.providers.compute_engine import operations, preflight, reports
from burst.providers.compute_engine.bulk_insert import (
    bulk_insert,
    instance_names,
    location_policy,
    request_id,
)
from burst.providers.google import instances
from burst.providers.google.api_errors import operation_error
from burst.providers.google.credentials import TIMEOUT, GoogleAccount
from burst.providers.google.regions import Region
from burst.providers.google.settings import chosen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from burst.lifecycle.records import ResourceReport
    from burst.planning.records import Offer
    from burst.providers.compute_engine.reports import BulkOperation
    from burst.providers.compute_engine.settings import ComputeEngineSettings
    from burst.providers.google.credentials import GoogleClients
    from burst.providers.google.instances import ListedInstance
    from burst.providers.google.settings import GoogleMachine
    from burst.providers.provider import WantedBurst

NO_TUNNELS = (
    "spec.bursting.expose is tunnel, which ends at an API server, and instances have none: set it to nodePort"
    " or loadBalancer"
)


class ComputeEngineProvider:
    """Makes the instances of a burst by one bulk insert, and deletes each."""

    def __init__(
        self,
        name: str,
        settings: ComputeEngineSettings,
        boot: Callable[[WantedBurst], Mapping[str, str]],
        console_problem: Callable[[str], str] = lambda _text: "",
        now: Callable[[], float] = time.time,
    ) -> None:
        """`boot` returns the metadata of all instances of a burst.

        `console_problem` returns what the text of a serial console has about a broker that has not joined.
        """
        self.name = name
        self._where = f"{settings.project}/{settings.region}"
        self.location = f"compute-engine/{self._where}"
        self._settings = settings
        self._boot = boot
        self._console_problem = console_problem
        self._now = now
        self._account = GoogleAccount(name, settings)

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the price table."""
        return cloud_machines.offers(self.name, self._settings.machines)

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the one resource that a burst is: all of its instances."""
        return (ResourceKey(reports.KIND, name_of(wanted.label), wanted.nodes),)

    def create(self, key: ResourceKey, _token: str, wanted: WantedBurst) -> None:
        """Order a burst's instances, unless any of them is there."""
        machine = self._machine(wanted)
        with self._account.visit(self._where) as clients:
            there = self._listed(clients, f'name eq "{key.name}-[0-9]+"')
            if others := [each for each in there if not _is_of(each, wanted)]:
                raise NameTaken(f"instance {others[0].name} is there, and not of this burst")
            if not there:
                self._order(clients, machine, wanted)

    def _order(self, clients: GoogleClients, machine: GoogleMachine, wanted: WantedBurst) -> None:
        """Send the order. Raises NoCapacity and AccountLimitReached for one that has failed meanwhile."""
        settings = self._settings
        resource = bulk_insert(settings, machine, wanted, self._boot(wanted), self._now())
        region = Region.read(clients, settings.project, settings.region) if settings.zones else None
        resource["location_policy"] = location_policy(settings, region.zones if region else ())
        request = {
            "project": settings.project,
            "region": settings.region,
            "request_id": request_id(wanted),
            "bulk_insert_instance_resource_resource": resource,
        }
        service = clients.compute("RegionInstances")
        answer = service.bulk_insert_unary(request=request, retry=None, timeout=TIMEOUT)
        operation = operations.read(clients, settings, answer)
        if error := operation_error(operation.problems, self._where):
            raise error

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return a burst's status; where not all of its instances run, with what its order has come to."""
        with self._account.visit(self._where) as clients:
            found, operation = self._there(clients, wanted)
        return reports.report(key, found, operation, wanted, self._now())

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return what a serial console has about why a broker has not joined; nothing without the right."""
        try:
            with self._account.visit(self._where) as clients:
                consoles = (
                    _console(clients, self._settings.project, each)
                    for each in self._of_burst(clients, wanted)
                )
                return next(filter(None, map(self._console_problem, consoles)), "")
        except ProviderError:
            return ""

    def delete(self, _key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete a burst's instances. Raises the first error, after having tried all."""
        with self._account.visit(self._where) as clients:
            found, _ = self._there(clients, wanted)
            left = [each for each in found if not each.is_going]
            errors = instances.delete(clients, self._settings.project, left, self._where)
            if errors:
                raise errors[0]

    def problems(self) -> Iterable[str]:
        """Return what is wrong with credentials, rights, region, machines, image, network and quotas."""
        return preflight.problems(self._account, self._settings, self._where)

    def tunnel_problems(self) -> Iterable[str]:
        """Return that there are no tunnels to instances."""
        return [NO_TUNNELS]

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List the bursts of which there are instances."""
        with self._account.visit(self._where) as clients:
            found = self._listed(clients, instances.with_labels({LABEL_OWNER: installation}))
        return reports.owned(found, installation)

    def _machine(self, wanted: WantedBurst) -> GoogleMachine:
        return chosen(self.name, self._settings.machines, wanted)

    def _there(
        self, clients: GoogleClients, wanted: WantedBurst
    ) -> tuple[Sequence[ListedInstance], BulkOperation | None]:
        """Return a burst's instances, and what makes them unless all run.

        Where no listing has any of them yet, and where an order has failed that deletes what came, each is
        asked for by its name.
        """
        found: Sequence[ListedInstance] = self._of_burst(clients, wanted)
        if sum(each.is_running for each in found) >= wanted.nodes:
            return found, None
        operation = operations.find(clients, self._settings, wanted)
        names: list[tuple[str, str]] = []
        if operation is not None and (operation.problems if found else operation.is_recent(self._now())):
            names = [(zone, each) for zone in operation.zones for each in instance_names(wanted)]
        if names:
            named = instances.named(clients, self._settings.project, names)
            found = [each for each in named if _is_of(each, wanted)]
        return found, operation

    def _of_burst(self, clients: GoogleClients, wanted: WantedBurst) -> list[ListedInstance]:
        labels = {LABEL_BURST: wanted.label, LABEL_OWNER: wanted.installation}
        found = self._listed(clients, instances.with_labels(labels))
        return [each for each in found if not each.is_node]

    def _listed(self, clients: GoogleClients, wanted: str) -> Sequence[ListedInstance]:
        return instances.listed(clients, self._settings.project, self._settings.region, wanted)


def _is_of(found: ListedInstance, wanted: WantedBurst) -> bool:
    owner = (found.labels.get(LABEL_BURST), found.labels.get(LABEL_OWNER))
    return owner == (wanted.label, wanted.installation)


def _console(clients: GoogleClients, project: str, one: ListedInstance) -> str:
    request = {"project": project, "zone": one.zone, "instance": one.name}
    service = clients.compute("Instances")
    answer = service.get_serial_port_output(request=request, retry=None, timeout=TIMEOUT)
    return str(answer.contents)
