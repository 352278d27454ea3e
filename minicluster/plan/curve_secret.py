"""The Secret with the brokers' CURVE certificate: immutable, and the one place where keys are written."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from broker_config import curve
from minicluster.plan import names
from minicluster.plan.constants import CURVE_FILE, Component
from minicluster.plan.errors import KeysNeededError
from minicluster.plan.labels import metadata

if TYPE_CHECKING:
    from broker_config.curve import KeyPair
    from minicluster.plan.fields import Object
    from minicluster.plan.records import Site
    from minicluster.spec import MiniCluster


def build(cluster: MiniCluster, site: Site, certificate: str) -> Object:
    """Return the Secret that holds the certificate's text."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(cluster, site, names.curve_secret(cluster), Component.CONFIGURATION),
        "type": "Opaque",
        "immutable": True,
        "data": {CURVE_FILE: b64encode(certificate.encode()).decode()},
    }


def certificate(cluster: MiniCluster, keys: KeyPair | None) -> str:
    """Return the certificate's text: the document's own, else one of these keys.

    Raises KeysNeededError where there is neither.
    """
    if cluster.spec.flux.curve_cert:
        return cluster.spec.flux.curve_cert
    if keys is None:
        raise KeysNeededError(f"Secret {names.curve_secret(cluster)} is to be made: pass a fresh key pair")
    return curve.render(cluster.metadata.name, keys)
