"""Scaling with the rights of the pod's service account: one PATCH of the scale subresource."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from minicluster.within.errors import DeniedError, NotInsideError, RefusedError, UnreachableError, WithinError

if TYPE_CHECKING:
    import ssl

    from minicluster.within.context import PodContext

SECONDS = 30.0
MANAGER = "minicluster-within"
"""The field manager of a size that was set from inside."""
GROUP, VERSION, PLURAL = "flux-framework.org", "v1alpha2", "miniclusters"
_ACCOUNT = re.compile(r"system:serviceaccount:([^:\"]+:[^:\"]+)")


def scale(pod: PodContext, size: int) -> None:
    """Ask for so many brokers. Raises WithinError."""
    import http.client  # noqa: PLC0415 - HTTP and TLS take 5 ms: on one's own machine neither is needed

    resource_path = f"/apis/{GROUP}/{VERSION}/namespaces/{pod.namespace}/{PLURAL}/{pod.name}/scale"
    headers = {
        "Authorization": f"Bearer {pod.token}",
        "Content-Type": "application/merge-patch+json",
        "Accept": "application/json",
    }
    body = json.dumps({"spec": {"replicas": size}})
    connection = http.client.HTTPSConnection(pod.host, pod.port, timeout=SECONDS, context=_trusting(pod))
    try:
        connection.request("PATCH", f"{resource_path}?fieldManager={MANAGER}", body, headers)
        answer = connection.getresponse()
        status, text = answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(f"the API server {pod.host}:{pod.port} does not answer: {error}") from error
    finally:
        connection.close()
    if status >= 400:
        raise _refusal(pod, size, status, _error_body(text))


def _trusting(pod: PodContext) -> ssl.SSLContext:
    import ssl  # noqa: PLC0415 - as above

    try:
        return ssl.create_default_context(cafile=str(pod.authority))
    except OSError as error:  # a damaged certificate's error is one, too
        raise NotInsideError(f"the API server's authority {pod.authority} cannot be read: {error}") from error


def _error_body(text: bytes) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"message": text[:200].decode(errors="replace")}


def _refusal(pod: PodContext, size: int, status: int, body: dict[str, Any]) -> WithinError:
    message = str(body.get("message") or "")
    if status == 403:
        return DeniedError(f"{message or 'forbidden'}. {_how(pod, message)}")
    if status == 401:
        return DeniedError(
            f"the API server does not accept the pod's token {pod.account / 'token'}: {message}"
        )
    if status == 404:
        return NotInsideError(f"MiniCluster {pod.name} in namespace {pod.namespace} is not there: {message}")
    if status == 429 or status >= 500:
        return UnreachableError(f"the API server cannot do it now ({status}): {message}")
    causes = (body.get("details") or {}).get("causes") or ()
    why = "; ".join(str(each.get("message", "")).replace("Invalid value: ", "", 1) for each in causes)
    return RefusedError(f"MiniCluster {pod.name} cannot have {size} brokers: {why or message}")


def _how(pod: PodContext, message: str) -> str:
    """Return how to make the missing Role: for this one MiniCluster, and for its size alone."""
    found = _ACCOUNT.search(message)
    account = found.group(1) if found else f"{pod.namespace}:SERVICE_ACCOUNT"
    role, where = f"{pod.name}-scale", f"-n {pod.namespace}"
    resource = f"--resource={PLURAL}.{GROUP}/scale --resource-name={pod.name}"
    return (
        "Needed is a Role, which whoever administers the namespace makes:\n"
        f"  kubectl create role {role} {where} --verb=patch {resource}\n"
        f"  kubectl create rolebinding {role} {where} --role={role} --serviceaccount={account}"
    )
