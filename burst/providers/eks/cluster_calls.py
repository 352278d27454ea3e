"""The calls of AWS's client about clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burst.providers.eks.aws_errors import IN_USE, code
from burst.providers.eks.clients import refused

if TYPE_CHECKING:
    from burst.providers.eks.clients import AwsClients
    from burst.providers.eks.cluster_reports import EksClusterAnswer


@dataclass(frozen=True, slots=True)
class AwsClusterCalls:
    """Makes, reads, lists and deletes clusters. Each call raises ProviderError, which has the location."""

    clients: AwsClients
    location: str

    def created(self, request: dict[str, Any]) -> EksClusterAnswer:
        """Make a cluster; return it, or the one that has its name by now."""
        with refused(self.location):
            eks = self.clients.client("eks")
            try:
                made: EksClusterAnswer = eks.create_cluster(**request)["cluster"]
            except eks.exceptions.ClientError as error:
                found = self.described(request["name"]) if code(error.response) == IN_USE else None
                if found is None:
                    raise
                return found
        return made

    def described(self, name: str) -> EksClusterAnswer | None:
        """Return the cluster that has a name; None: there is none."""
        with refused(self.location):
            eks = self.clients.client("eks")
            try:
                found: EksClusterAnswer = eks.describe_cluster(name=name)["cluster"]
            except eks.exceptions.ResourceNotFoundException:
                return None
        return found

    def names(self) -> list[str]:
        """Return the names of all clusters of the account in the region."""
        with refused(self.location):
            pages = self.clients.client("eks").get_paginator("list_clusters").paginate()
            return [name for page in pages for name in page["clusters"]]

    def delete(self, name: str) -> None:
        """Begin to delete a cluster, if it is there."""
        with refused(self.location):
            eks = self.clients.client("eks")
            try:
                eks.delete_cluster(name=name)
            except eks.exceptions.ResourceNotFoundException:
                return
