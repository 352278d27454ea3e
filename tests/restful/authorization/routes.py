"""A row for each route: what is about whom, and a request in which nothing else is wrong.

Whoever adds a route adds its row here. What its kind means for each asker is in `expectations.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = tuple[str, str]
"""The method and the path, as in the OpenAPI document."""


class Kind(StrEnum):
    """What a route is about, as far as it decides who may ask."""

    PUBLIC = "public"
    """Nobody has to show anything."""
    SELF = "self"
    """About oneself, with any token."""
    SELF_TOKENS = "self, scope tokens"
    SELF_LOGIN = "self, by a login"
    """Makes what outlives the request: personal tokens and service accounts may not."""
    OWN_CREDENTIAL = "own credential"
    """A token or a session of one's own."""
    ADMIN = "admin"
    """About users, groups and grants, which are an admin's business."""
    ADMIN_LOGIN = "admin, by a login"
    """Lets somebody in, or do more, also when the token is good no more: only a login may."""
    CLUSTERS = "clusters"
    """A list of what one may use."""
    CLUSTER = "cluster"
    """Reads a cluster, or one's own jobs there."""
    SUBMIT = "submit"
    JOB_READ = "job, read"
    JOB_STREAM = "job, live"
    CLUSTER_STREAM = "cluster, live"
    JOB_CHANGE = "job, change"
    BULK = "jobs, change"
    """Many jobs by their ids: the answer is 207, and has a status of each."""
    OPERATE = "operate"
    """Nodes and queues of a cluster."""
    V1_LIST = "v1, list"
    V1_SUBMIT = "v1, submit"
    V1_READ = "v1, read"
    """Of a job that is not one's own the answer is 200 and null, or has no output."""
    V1_STREAM = "v1, live"
    V1_CANCEL = "v1, cancel"
    V1_STOP = "v1, stop"
    """Refused whoever asks."""
    NAMED_LIST = "v1 named, list"
    """As V1_LIST, with the cluster in the path; so are the next ones."""
    NAMED_SUBMIT = "v1 named, submit"
    NAMED_READ = "v1 named, read"
    NAMED_STREAM = "v1 named, live"
    NAMED_CANCEL = "v1 named, cancel"
    OTHERS_JOBS = "others' jobs"
    """A listing of somebody else's jobs."""
    OTHERS_CANCEL = "others' jobs, change"
    OTHERS_USE = "others' use"
    EVERYBODYS_USE = "everybody's use"
    """At all clusters that one operates."""
    HIGH_URGENCY = "high urgency"
    AFTER = "submit behind a job"
    """A job that depends on one's own, or on somebody else's."""
    BEYOND = "scopes beyond"
    """A token that could do more than who asks for it."""
    PAGE = "page"
    PAGE_FORM = "page, form"
    PAGE_CREDENTIAL = "page, own credential"
    PAGE_SUBMIT = "page, submit"
    PAGE_STREAM = "page, live"
    """News of a cluster's jobs: only the beginning of the answer is read."""
    PAGE_JOB = "page, job"
    PAGE_CHANGE = "page, job, change"
    PAGE_BULK = "page, jobs, change"
    """Many jobs: the answer leads back to the list, and says how many are cancelled."""
    PAGE_OTHERS_STREAM = "page, others, live"
    PAGE_OPERATE = "page, operate"
    PAGE_ADMIN = "page, admin"
    PAGE_ADMIN_AGAIN = "page, admin, again"
    """Leads to a page for admins, whether or not what is on it is there."""
    PAGE_OPEN = "page, anyone"
    PAGE_REFUSED = "page, refused"
    """A form of a page of others."""
    PAGE_FORGED = "page, forged"
    """A form without its session's CSRF token."""


@dataclass(frozen=True, slots=True)
class Row:
    """A route: `{name}` in texts stands for the object of that name."""

    kind: Kind
    body: object = None
    form: Mapping[str, str] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


EVENTS = {"Accept": "text/event-stream"}
CLUSTER = "/v2/clusters/{cluster}"
JOB = f"{CLUSTER}/jobs/{{id}}"
COMMAND = {"command": ["true"]}
PASSWORD = "correct horse battery"

IDENTITY: dict[Key, Row] = {
    ("GET", "/v2/me"): Row(Kind.SELF),
    ("PATCH", "/v2/me/password"): Row(Kind.SELF_LOGIN, {"current": PASSWORD, "new": PASSWORD}),
    ("GET", "/v2/me/sessions"): Row(Kind.SELF),
    ("DELETE", "/v2/me/sessions"): Row(Kind.SELF_TOKENS),
    ("DELETE", "/v2/me/sessions/{session}"): Row(Kind.OWN_CREDENTIAL),
    ("GET", "/v2/me/tokens"): Row(Kind.SELF_TOKENS),
    ("POST", "/v2/me/tokens"): Row(Kind.SELF_LOGIN, {"name": "x", "scopes": ["jobs:read"]}),
    ("DELETE", "/v2/me/tokens/{token}"): Row(Kind.OWN_CREDENTIAL),
    ("POST", "/v2/me/device"): Row(Kind.SELF_LOGIN, {"user_code": "{code}", "approve": True}),
    ("GET", "/v2/users"): Row(Kind.ADMIN),
    ("POST", "/v2/users"): Row(Kind.ADMIN, {"name": "{new}"}),
    ("GET", "/v2/users/{user}"): Row(Kind.ADMIN),
    ("PATCH", "/v2/users/{user}"): Row(Kind.ADMIN, {"display": "x"}),
    ("DELETE", "/v2/users/{user}"): Row(Kind.ADMIN),
    ("GET", "/v2/clients"): Row(Kind.ADMIN),
    ("POST", "/v2/clients"): Row(Kind.ADMIN_LOGIN, {"name": "{new}", "scopes": ["jobs:read"]}),
    ("DELETE", "/v2/clients/{client}"): Row(Kind.ADMIN),
    ("GET", "/v2/groups"): Row(Kind.ADMIN),
    ("POST", "/v2/groups"): Row(Kind.ADMIN, {"name": "{new}"}),
    ("GET", "/v2/groups/{group}"): Row(Kind.ADMIN),
    ("DELETE", "/v2/groups/{group}"): Row(Kind.ADMIN),
    ("PUT", "/v2/groups/{group}/members/{user}"): Row(Kind.ADMIN),
    ("DELETE", "/v2/groups/{group}/members/{user}"): Row(Kind.ADMIN),
    ("GET", "/v2/grants"): Row(Kind.ADMIN),
    ("POST", "/v2/grants"): Row(Kind.ADMIN, {"cluster": "{new}", "role": "use"}),
    ("DELETE", "/v2/grants/{grant}"): Row(Kind.ADMIN),
    ("GET", "/v2/quotas"): Row(Kind.ADMIN),
    ("POST", "/v2/quotas"): Row(Kind.ADMIN, {"user": "{someone}", "jobs": 1}),
    ("GET", "/v2/quotas/{quota}"): Row(Kind.ADMIN),
    ("PATCH", "/v2/quotas/{quota}"): Row(Kind.ADMIN, {"jobs": 2}),
    ("DELETE", "/v2/quotas/{quota}"): Row(Kind.ADMIN),
    ("GET", "/v2/me/quotas"): Row(Kind.CLUSTERS),
    ("GET", "/v2/audit"): Row(Kind.ADMIN),
    ("GET", "/v2/audit/check"): Row(Kind.ADMIN),
}
JOBS: dict[Key, Row] = {
    ("GET", "/v2/clusters"): Row(Kind.CLUSTERS),
    ("GET", CLUSTER): Row(Kind.CLUSTER),
    ("GET", f"{CLUSTER}/nodes"): Row(Kind.CLUSTER),
    ("GET", f"{CLUSTER}/queues"): Row(Kind.CLUSTER),
    ("GET", f"{CLUSTER}/stats"): Row(Kind.CLUSTER),
    ("GET", f"{CLUSTER}/jobs"): Row(Kind.CLUSTER),
    ("GET", "/v2/usage"): Row(Kind.CLUSTER, query={"cluster": "{cluster}"}),
    ("POST", f"{CLUSTER}/jobs"): Row(Kind.SUBMIT, COMMAND),
    ("POST", f"{CLUSTER}/jobs:submit"): Row(Kind.SUBMIT, {"jobs": [COMMAND]}),
    ("POST", f"{CLUSTER}/jobs:validate"): Row(Kind.SUBMIT, COMMAND),
    ("POST", f"{CLUSTER}/jobs:cancel"): Row(Kind.BULK, {"ids": ["{id}"]}),
    ("GET", f"{CLUSTER}/events"): Row(Kind.CLUSTER_STREAM, headers=EVENTS),
    ("HEAD", f"{CLUSTER}/events"): Row(Kind.CLUSTER),
    ("GET", JOB): Row(Kind.JOB_READ),
    ("GET", f"{JOB}/jobspec"): Row(Kind.JOB_READ),
    ("GET", f"{JOB}/why"): Row(Kind.JOB_READ),
    ("GET", f"{JOB}/output"): Row(Kind.JOB_STREAM, headers=EVENTS, query={"follow": "false"}),
    ("HEAD", f"{JOB}/output"): Row(Kind.JOB_READ),
    ("GET", f"{JOB}/events"): Row(Kind.JOB_STREAM, headers=EVENTS),
    ("HEAD", f"{JOB}/events"): Row(Kind.JOB_READ),
    ("POST", f"{JOB}/cancel"): Row(Kind.JOB_CHANGE),
    ("POST", f"{JOB}/kill"): Row(Kind.JOB_CHANGE, {"signal": "TERM"}),
    ("POST", f"{JOB}/urgency"): Row(Kind.JOB_CHANGE, {"urgency": 8}),
    ("POST", f"{CLUSTER}/nodes/{{host}}/drain"): Row(Kind.OPERATE, {"reason": "x"}),
    ("POST", f"{CLUSTER}/nodes/{{host}}/undrain"): Row(Kind.OPERATE),
    ("POST", f"{CLUSTER}/queues/{{queue}}/start"): Row(Kind.OPERATE),
    ("POST", f"{CLUSTER}/queues/{{queue}}/stop"): Row(Kind.OPERATE, {"reason": "x"}),
}
PUBLIC: dict[Key, Row] = {
    ("POST", "/v2/oauth/token"): Row(Kind.PUBLIC, form={"grant_type": "x"}),
    ("POST", "/v2/oauth/device"): Row(Kind.PUBLIC, form={"client_id": "x"}),
    ("POST", "/v2/oauth/revoke"): Row(Kind.PUBLIC, form={"token": "x"}),
    ("GET", "/.well-known/jwks.json"): Row(Kind.PUBLIC),
    ("GET", "/.well-known/oauth-authorization-server"): Row(Kind.PUBLIC),
    ("GET", "/healthz"): Row(Kind.PUBLIC),
    ("GET", "/readyz"): Row(Kind.PUBLIC),
    ("GET", "/openapi.json"): Row(Kind.PUBLIC),
}
V1: dict[Key, Row] = {
    ("POST", "/v1/token"): Row(Kind.PUBLIC),
    ("POST", "/v1/login/access-token"): Row(Kind.PUBLIC, form={"username": "x", "password": "y"}),
    ("GET", "/v1/jobs"): Row(Kind.V1_LIST),
    ("GET", "/v1/jobs/search"): Row(Kind.V1_LIST),
    ("GET", "/v1/nodes"): Row(Kind.V1_LIST),
    ("POST", "/v1/jobs/submit"): Row(Kind.V1_SUBMIT, query={"command": "true"}),
    ("GET", "/v1/jobs/{jobid}"): Row(Kind.V1_READ),
    ("GET", "/v1/jobs/{jobid}/output"): Row(Kind.V1_READ),
    ("GET", "/v1/jobs/{jobid}/output/stream"): Row(Kind.V1_STREAM),
    ("POST", "/v1/jobs/{jobid}/cancel"): Row(Kind.V1_CANCEL),
    ("POST", "/v1/service/stop"): Row(Kind.V1_STOP),
}
SUBMITTED = {"command": "true", "tasks": "1", "cluster": "{cluster}", "key": "{new}"}
PAGES: dict[Key, Row] = {
    ("GET", "/login"): Row(Kind.PAGE_OPEN),
    ("POST", "/login"): Row(Kind.PAGE_OPEN, form={"name": "x", "password": "y"}),
    ("GET", "/login/link"): Row(Kind.PAGE_OPEN),
    ("POST", "/login/link"): Row(Kind.PAGE_OPEN, form={"token": "x"}),
    ("GET", "/logout"): Row(Kind.PAGE_OPEN),
    ("GET", "/password"): Row(Kind.PAGE_OPEN),
    ("GET", "/tokens"): Row(Kind.PAGE_OPEN),
    ("GET", "/tokens/revoke"): Row(Kind.PAGE_OPEN),
    ("GET", "/jobs"): Row(Kind.PAGE),
    ("GET", "/jobs/live"): Row(Kind.PAGE_STREAM, query={"cluster": "{cluster}"}),
    ("GET", "/"): Row(Kind.PAGE_OPEN),
    ("GET", "/device"): Row(Kind.PAGE),
    ("POST", "/device"): Row(Kind.PAGE_FORM, form={"user_code": "{code}", "decision": "approve"}),
    ("POST", "/password"): Row(Kind.PAGE_FORM, form={"new": "{new}{new}", "again": "{new}{new}"}),
    ("POST", "/tokens"): Row(Kind.PAGE_FORM, form={"name": "x", "days": "1", "scopes": "jobs:read"}),
    ("POST", "/logout"): Row(Kind.PAGE_FORM, form={}),
    ("POST", "/tokens/revoke"): Row(Kind.PAGE_CREDENTIAL, form={"token": "{token}"}),
    ("POST", "/jobs/new"): Row(Kind.PAGE_SUBMIT, form=SUBMITTED),
    ("POST", "/sessions/end"): Row(Kind.PAGE_CREDENTIAL, form={"session": "{session}"}),
    ("POST", "/sessions/end-others"): Row(Kind.PAGE_FORM, form={}),
    ("GET", "/jobs/{cluster}/{jobid}"): Row(Kind.PAGE_JOB),
    ("GET", "/jobs/{cluster}/{jobid}/output/file"): Row(Kind.PAGE_JOB),
    ("POST", "/jobs/{cluster}/{jobid}/cancel"): Row(Kind.PAGE_CHANGE, form={}),
    ("POST", "/jobs/{cluster}/{jobid}/kill"): Row(Kind.PAGE_CHANGE, form={"signal": "TERM"}),
    ("POST", "/jobs/{cluster}/{jobid}/urgency"): Row(Kind.PAGE_CHANGE, form={"urgency": "8"}),
    ("POST", "/nodes/drain"): Row(
        Kind.PAGE_OPERATE, form={"cluster": "{cluster}", "node": "{host}", "reason": "x"}
    ),
    ("POST", "/nodes/undrain"): Row(Kind.PAGE_OPERATE, form={"cluster": "{cluster}", "node": "{host}"}),
    ("POST", "/queues/start"): Row(Kind.PAGE_OPERATE, form={"cluster": "{cluster}", "queue": "{queue}"}),
    ("POST", "/queues/stop"): Row(
        Kind.PAGE_OPERATE, form={"cluster": "{cluster}", "queue": "{queue}", "reason": "x"}
    ),
    ("GET", "/account"): Row(Kind.PAGE),
    ("GET", "/jobs/new"): Row(Kind.PAGE),
    ("GET", "/nodes"): Row(Kind.PAGE),
    ("GET", "/usage"): Row(Kind.PAGE),
    ("GET", "/login/oidc"): Row(Kind.PAGE_OPEN),
    ("GET", "/callback"): Row(Kind.PAGE_OPEN),
    **{
        ("GET", path): Row(Kind.PAGE_OPEN)
        for path in (
            *("/jobs/cancel", "/nodes/drain", "/nodes/undrain", "/queues/start", "/queues/stop"),
            *("/sessions/end", "/sessions/end-others", "/jobs/{cluster}/{jobid}/cancel"),
            *("/jobs/{cluster}/{jobid}/kill", "/jobs/{cluster}/{jobid}/urgency"),
        )
    },
    ("GET", "/jobs/{cluster}/{jobid}/output"): Row(Kind.PAGE_JOB),
    ("POST", "/jobs/cancel"): Row(Kind.PAGE_BULK, form={"cluster": "{cluster}", "job": "{id}"}),
}
SURE = {"sure": "yes"}
_CLIENT = {"name": "{new}", "role": "user", "display": "", "days": "1", "scopes": "jobs:read"}
_QUOTA = {"cluster": "*", "subject": "user", "name": "dave", "jobs": "1000", "days": "30"}
ADMIN_PAGES: dict[Key, Row] = {
    **{
        ("GET", f"/admin{path}"): Row(Kind.PAGE_ADMIN)
        for path in (
            *("", "/users", "/users/{user}", "/groups", "/groups/{group}", "/clients", "/clients/delete"),
            *("/grants", "/grants/delete", "/quotas", "/quotas/{quota}", "/audit", "/audit/check"),
        )
    },
    ("GET", "/admin/users/{user}/{what}"): Row(Kind.PAGE_ADMIN_AGAIN),
    ("GET", "/admin/groups/{group}/{what}"): Row(Kind.PAGE_ADMIN_AGAIN),
    ("GET", "/admin/quotas/{quota}/{what}"): Row(Kind.PAGE_ADMIN_AGAIN),
    **{
        ("POST", f"/admin{path}"): Row(Kind.PAGE_ADMIN, form=form)
        for path, form in {
            "/users": {"name": "{new}", "role": "user", "display": ""},
            "/users/{user}/change": {"role": "user", "display": "x"},
            "/users/{user}/state": {"state": "locked"},
            "/users/{user}/link": {},
            "/users/{user}/reset": {},
            "/users/{user}/delete": SURE,
            "/groups": {"name": "{new}"},
            "/groups/{group}/add": {"name": "alice"},
            "/groups/{group}/remove": {"user": "{user}"},
            "/groups/{group}/delete": SURE,
            "/clients": _CLIENT,
            "/clients/delete": {"client": "{client}"},
            "/grants": {"cluster": "{new}", "subject": "everyone", "name": "", "role": "use"},
            "/grants/delete": {"grant": "{grant}"},
            "/quotas": _QUOTA,
            "/quotas/{quota}/change": {"jobs": "2", "days": "30"},
            "/quotas/{quota}/delete": {},
        }.items()
    },
}
NAMED = {
    Kind.V1_LIST: Kind.NAMED_LIST,
    Kind.V1_SUBMIT: Kind.NAMED_SUBMIT,
    Kind.V1_READ: Kind.NAMED_READ,
    Kind.V1_STREAM: Kind.NAMED_STREAM,
    Kind.V1_CANCEL: Kind.NAMED_CANCEL,
}
CROSS_SITE = {"sec-fetch-site": "cross-site"}
VARIANTS: dict[Key, Row] = {
    ("POST", "/v2/me/tokens#beyond"): Row(Kind.BEYOND, {"name": "x", "scopes": ["audit:read"]}),
    ("POST", "/v2/users#password"): Row(Kind.ADMIN_LOGIN, {"name": "{new}", "password": PASSWORD}),
    ("POST", "/v2/users#admin"): Row(Kind.ADMIN_LOGIN, {"name": "{new}", "role": "admin"}),
    ("PATCH", "/v2/users/{user}#password"): Row(Kind.ADMIN_LOGIN, {"password": PASSWORD}),
    ("PATCH", "/v2/users/{user}#operator"): Row(Kind.ADMIN_LOGIN, {"role": "operator"}),
    ("PATCH", "/v2/users/{user}#active"): Row(Kind.ADMIN_LOGIN, {"state": "active"}),
    ("POST", f"{CLUSTER}/jobs#behind"): Row(
        Kind.AFTER, {"command": ["true"], "dependencies": ["afterok:{id}"]}
    ),
    ("POST", f"{CLUSTER}/jobs:submit#behind"): Row(
        Kind.AFTER, {"jobs": [{"command": ["true"], "dependencies": ["afterok:{id}"]}]}
    ),
    ("GET", f"{CLUSTER}/jobs#others"): Row(Kind.OTHERS_JOBS, query={"owner": "*"}),
    ("GET", "/jobs/live#others"): Row(Kind.PAGE_OTHERS_STREAM, query={"cluster": "{cluster}", "owner": "*"}),
    ("POST", f"{CLUSTER}/jobs:cancel#others"): Row(Kind.OTHERS_CANCEL, {"filter": {"owner": "*"}}),
    ("GET", "/v2/usage#others"): Row(Kind.OTHERS_USE, query={"cluster": "{cluster}", "user": "*"}),
    ("GET", "/v2/usage#everybody"): Row(Kind.EVERYBODYS_USE, query={"by": "user", "user": "*"}),
    ("POST", f"{JOB}/urgency#high"): Row(Kind.HIGH_URGENCY, {"urgency": 31}),
    ("GET", f"{JOB}/output#no events"): Row(Kind.JOB_READ),
    ("GET", f"{JOB}/output#cross-site"): Row(
        Kind.JOB_READ, headers={**EVENTS, **CROSS_SITE}, query={"follow": "false"}
    ),
    ("POST", "/tokens#cross-site"): Row(
        Kind.PAGE_REFUSED, form={"name": "x", "days": "1", "scopes": "jobs:read"}, headers=CROSS_SITE
    ),
    ("POST", "/login#cross-site"): Row(
        Kind.PAGE_REFUSED, form={"name": "x", "password": "y"}, headers=CROSS_SITE
    ),
    ("POST", "/tokens#forged"): Row(
        Kind.PAGE_FORGED, form={"name": "x", "days": "1", "scopes": "jobs:read", "csrf": "x"}
    ),
}
"""Further requests of routes; what is behind # is their name."""
BELOW = "/clusters/{cluster}"
ROWS: dict[Key, Row] = {
    **IDENTITY,
    **JOBS,
    **PUBLIC,
    **V1,
    **{
        (method, BELOW + path): replace(row, kind=NAMED.get(row.kind, row.kind))
        for (method, path), row in V1.items()
    },
    **PAGES,
    **ADMIN_PAGES,
    **VARIANTS,
}
STATIC = ("/static/",)
"""Files of the page, which anybody gets."""
