"""The variables that stand for options of the service, by which a command in its pod works with the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from burst.kubernetes.settings import ServedWorkplace
    from minicluster.kube_client.access import Access

PREFIX = "MINICLUSTER_BURST_"
SETTINGS, STATE, DATABASE, TUNNELS, NAMESPACES, TOKENS_SECRET = (
    f"{PREFIX}{each}" for each in ("SETTINGS", "STATE", "DATABASE", "TUNNELS", "NAMESPACES", "TOKENS_SECRET")
)
LEDGER = "burst.db"
"""The file in the folder of the state, where no other database is named."""


def is_of_service(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether these are the variables of a service's pod."""
    return bool(environ.get(SETTINGS) and environ.get(STATE))


def own_namespace(environ: Mapping[str, str] = os.environ) -> str:
    """Return the namespace of this pod."""
    from burst.kubernetes.settings import INSTALLED  # noqa: PLC0415

    return environ.get("POD_NAMESPACE") or INSTALLED


def named(text: str, environ: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return namespace and name of a Lease or Secret; without a text, those of this pod's service.

    Raises ValueError.
    """
    from burst.kubernetes.settings import INSTALLED, SERVICE  # noqa: PLC0415

    namespace, _, name = (text or f"{own_namespace(environ)}/{SERVICE}").partition("/")
    if not namespace or not name or "/" in name:
        raise ValueError(f"{text}: needed is NAMESPACE/NAME, such as {INSTALLED}/{SERVICE}")
    return namespace, name


def workplace(environ: Mapping[str, str], access: Access) -> ServedWorkplace:
    """Return what the service of this pod works with. Raises as `opened`, and ValueError."""
    return opened(
        {each: environ.get(each, "") for each in (SETTINGS, STATE, DATABASE, TUNNELS)},
        environ.get(NAMESPACES, "").split(),
        named(environ.get(TOKENS_SECRET, ""), environ),
        access,
    )


def opened(
    paths: Mapping[str, str], namespaces: Iterable[str], secret: tuple[str, str], access: Access
) -> ServedWorkplace:
    """Return what a service works with; `paths` are by the names of variables.

    Raises SettingsInvalid and DatabaseError.
    """
    from burst.joining.tunnel_pods import TunnelPods, load_template  # noqa: PLC0415
    from burst.kubernetes.settings import ServedWorkplace, load_settings  # noqa: PLC0415
    from minicluster.database import given_url  # noqa: PLC0415

    state = Path(paths[STATE])
    url = given_url(paths[DATABASE]) if paths[DATABASE] else f"sqlite:///{state / LEDGER}"
    template = load_template(Path(paths[TUNNELS])) if paths[TUNNELS] else None
    pods = TunnelPods(access, own_namespace(), template) if template is not None else None
    return ServedWorkplace(
        access=access,
        namespaces=tuple(dict.fromkeys(namespaces)),
        secret=secret,
        settings=load_settings(Path(paths[SETTINGS]), state),
        database=url,
        state=state,
        tunnel_pods=pods,
    )
