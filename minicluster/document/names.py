"""The names by which an API server knows MiniClusters, apart from the models: a client needs no more."""

from typing import Literal

GROUP = "flux-framework.org"
VERSION = "v1alpha2"
API_VERSION: Literal["flux-framework.org/v1alpha2"] = "flux-framework.org/v1alpha2"
KIND: Literal["MiniCluster"] = "MiniCluster"
PLURAL = "miniclusters"
