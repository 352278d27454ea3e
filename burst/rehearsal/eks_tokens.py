"""How a cluster of EKS finds out who shows it a token: the signature in it, as STS computes it.

AWS Signature Version 4, with the signature in the query: "Authenticating Requests: Using Query Parameters".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "k8s-aws-v1."
_EMPTY = hashlib.sha256(b"").hexdigest()


def signer(token: str, cluster: str, secrets: Mapping[str, str]) -> str:
    """Return the access key that has signed a token for a cluster; empty where it proves nothing.

    `secrets` has the secret of each access key.
    """
    if not token.startswith(_PREFIX):
        return ""
    text = token.removeprefix(_PREFIX)
    url = urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    query = dict(parse_qsl(url.query))
    signature = query.pop("X-Amz-Signature", "")
    key, *scope = query.get("X-Amz-Credential", "").split("/")
    if key not in secrets or query.get("Action") != "GetCallerIdentity" or len(scope) != 4:
        return ""
    if "x-k8s-aws-id" not in query.get("X-Amz-SignedHeaders", "").split(";"):
        return ""
    # In the order of the names of headers.
    headers = f"host:{url.netloc}\nx-k8s-aws-id:{cluster}\n"
    given = "&".join(f"{quote(name, safe='')}={quote(query[name], safe='')}" for name in sorted(query))
    request = "\n".join(["GET", url.path or "/", given, headers, query["X-Amz-SignedHeaders"], _EMPTY])
    digest = hashlib.sha256(request.encode()).hexdigest()
    about = "\n".join(["AWS4-HMAC-SHA256", query["X-Amz-Date"], "/".join(scope), digest])
    made = f"AWS4{secrets[key]}".encode()
    for part in (*scope, about):
        made = hmac.new(made, part.encode(), hashlib.sha256).digest()
    return key if hmac.compare_digest(made.hex(), signature) else ""
