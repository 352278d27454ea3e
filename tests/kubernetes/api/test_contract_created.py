"""What the operator creates, and applies from its first change on, loses nothing by that (decision 0044)."""

from http import HTTPStatus

import pytest

from minicluster import document
from minicluster import plan as planning
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import RESOURCES
from minicluster.operator import observation
from minicluster.plan import Site
from tests.kubernetes.contract import Object, Opening, Server, fact, minicluster, read

KINDS = ("ConfigMap", "Service", "NetworkPolicy", "PodDisruptionBudget", "Job")
SITE = Site(lead_api=True, operator_namespace="system")


async def rendered(server: Server, kind: str) -> Object:
    """Return the object of that kind of a MiniCluster."""
    await server.api.create(minicluster(server))
    found = await read(server, RESOURCES["MiniCluster"], "mc")
    objects = planning.build(document.validate(found), SITE, suspended=False, mounts_flux_files=False)
    [item] = [each for each in objects if each["kind"] == kind]
    return item


def changed(item: Object, **labels: str) -> Object:
    """Return an object with further labels, stamped."""
    about = item["metadata"]
    return observation.stamped({**item, "metadata": {**about, "labels": {**about["labels"], **labels}}})


async def adopt(server: Server, item: Object) -> None:
    """Have what was created count as applied, once the server's own controllers leave it alone."""

    async def adopted() -> bool:
        about = observation.dependent(item["kind"], await found(server, item))
        assert about.creation is not None
        operations = observation.adoption(about.creation, about.version)
        try:
            await server.api.patch(RESOURCES[item["kind"]], server.namespace, about.key.name, operations)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            return False  # a controller wrote the status in between: the operator comes again then, too
        return True

    await server.until(adopted)


async def found(server: Server, item: Object) -> Object:
    return await read(server, RESOURCES[item["kind"]], item["metadata"]["name"])


@pytest.mark.parametrize("kind", KINDS)
def test_an_operator_that_starts_again_knows_what_it_created(server: Opening, kind: str) -> None:
    """Defaults that the creation owns are left out."""

    async def check(server: Server) -> None:
        item = observation.stamped(await rendered(server, kind))
        created = observation.dependent(kind, await server.api.create(item))
        assert created.creation is not None
        assert (created.shape, created.shared) == (observation.created_shape(item), False)
        assert created.applied == item["metadata"]["annotations"][observation.ANNOTATION_DIGEST]

    fact(check)(server)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_taken_out_of_it_is_missed(server: Opening, kind: str) -> None:
    async def check(server: Server) -> None:
        item = changed(await rendered(server, kind), our="label")
        await server.api.create(item)
        without = {"metadata": {"labels": {"our": None}}}
        await server.other.patch(RESOURCES[kind], server.namespace, item["metadata"]["name"], without)
        left = observation.dependent(kind, await found(server, item))
        assert left.shape != observation.created_shape(item)

    fact(check)(server)


@pytest.mark.parametrize("kind", KINDS)
def test_its_first_change_removes_what_is_not_wanted_any_more(server: Opening, kind: str) -> None:
    """And leaves the specification as it is, with its defaults."""

    async def check(server: Server) -> None:
        plain = await rendered(server, kind)
        await server.api.create(changed(plain, old="label"))
        before = await found(server, plain)
        await adopt(server, plain)
        wanted = changed(plain, new="label")
        applied = observation.dependent(kind, await server.api.apply(wanted))
        after = await found(server, plain)
        assert (applied.creation, applied.shape) == (None, observation.shape(wanted))
        assert (after.get("spec"), after.get("data")) == (before.get("spec"), before.get("data"))
        assert ("old" in after["metadata"]["labels"], after["metadata"]["labels"]["new"]) == (False, "label")

    fact(check)(server)
