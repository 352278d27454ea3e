"""What there is in a cluster: every object of every kind that its API server lists."""

from collections.abc import Iterator

from tests.devcluster import Api, ApiError

PASSING = {"events", "componentstatuses"}
"""Resources whose objects nobody deletes, or nobody has made."""
EVERYWHERE = {"default", "kube-root-ca.crt"}
"""Names of what every namespace has, some time after its creation."""


def of(api: Api) -> set[str]:
    """Return the paths of all objects, but for those that come and go by themselves.

    An API that is just going, or whose server is gone, is there by its version.
    """
    groups = api.get("/apis")["groups"]
    versions = ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups)]
    found = set()
    for version in versions:
        try:
            found.update(objects(api, version))
        except ApiError:
            found.add(version)
    return found


def objects(api: Api, version: str) -> Iterator[str]:
    """Name the objects of an API."""
    for resource in api.get(version)["resources"]:
        name = resource["name"]
        if "list" not in resource["verbs"] or "/" in name or name in PASSING:
            continue
        for about in (item["metadata"] for item in api.items(f"{version}/{name}")):
            if about["name"] not in EVERYWHERE:
                yield f"{name}: {'/'.join(filter(None, (about.get('namespace'), about['name'])))}"
