"""Every check of the service of who may do what, each with what the program is like without it.

Whoever adds a check adds it here. `owner_checks.py` takes each out and runs the matrix, which must notice;
tests/restful/proofs/test_owner_checks.py holds that the list has all calls of CHECKS.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One check, and the program without it."""

    file: str
    """Below restful/."""
    text: str
    """What is there, once."""
    without: str
    """What is in its place."""
    routes: str = ""
    """A part of the paths at which it is noticed first; the others are asked afterwards."""


SCENARIOS = "scenarios"
"""As the routes of a mutant: what one request does not show is tried first."""
JOBS = "jobs/jobs.py"
AT_CLUSTERS = [
    Mutant("clusters/access.py", "if cluster is None or not scopes:", "if cluster is None:", "nodes"),
    Mutant("clusters/access.py", "if scope not in scopes:", "if False:", "drain"),
    Mutant(
        "clusters/access.py",
        "everywhere & {GrantRole.OPERATE} if own else everywhere",
        "everywhere",
        "nodes",
    ),
    Mutant(
        "clusters/access.py",
        "if cluster.owner and cluster.owner == principal.user:",
        "if cluster.owner:",
        "nodes",
    ),
    Mutant(
        "clusters/access.py",
        "return at_cluster(principal.scopes, principal.role, stronger(granted))",
        "return principal.scopes",
        "nodes",
    ),
    Mutant(
        "clusters/access.py",
        "return [each for each in self._clusters if await self.scopes(principal, each)]",
        "return list(self._clusters)",
        "/v1/nodes",
    ),
    Mutant(
        "clusters/access.py",
        "scopes = frozenset[str]() if cluster is None else await self.scopes(principal, cluster)",
        "scopes = principal.scopes",
        "nodes",
    ),
    Mutant(
        "clusters/views.py",
        'await self._access.cluster(principal, name, "clusters:read"))[0]',
        "_unchecked(self._access, name))[0]",
        "nodes",
    ),
    Mutant(
        "clusters/views.py",
        'cluster, scopes = await self._access.cluster(principal, name, "clusters:read")',
        "cluster, scopes = _unchecked(self._access, name)",
        "queues",
    ),
    Mutant(
        "clusters/views.py",
        'cluster, _ = await self._access.cluster(principal, name, "nodes:drain")',
        "cluster, _ = _unchecked(self._access, name)",
        "drain",
    ),
    Mutant(
        "clusters/views.py",
        'cluster, _ = await self._access.cluster(principal, name, "queues:manage")',
        "cluster, _ = _unchecked(self._access, name)",
        "queues",
    ),
    Mutant(
        "clusters/views.py",
        "return await self._access.usable(principal)",
        "return list(self._access._clusters)",
        "/v1/nodes",
    ),
    Mutant(
        "jobs/listing.py",
        "cluster, scopes = await self._access.cluster(principal, cluster_name, scope)",
        "cluster, scopes = _unchecked(self._access, cluster_name)",
        "/jobs",
    ),
    Mutant(
        "jobs/listing.py",
        'owner = filters.owner_of(query.owner, principal.user, everybody=f"{scope}:all" in scopes)',
        "owner = filters.owner_of(query.owner, principal.user, everybody=True)",
        "others",
    ),
    Mutant("jobs/filters.py", "if not everybody:", "if False:", "others"),
    Mutant("jobs/filters.py", 'if asked in ("", user):\n        return user', "pass", "/jobs"),
]
AT_JOBS = [
    Mutant(
        "jobs/visibility.py",
        'if job is not None and not job.own and f"{scope}:all" not in scopes:',
        "if False:",
        "why",
    ),
    Mutant("jobs/visibility.py", "record.owner == principal.user", "True", "why"),
    Mutant(
        "jobs/visibility.py",
        "cluster, scopes = await self._access.cluster(principal, cluster_name, scope)",
        "cluster, scopes = _unchecked(self._access, cluster_name)",
        "why",
    ),
    Mutant(
        JOBS,
        'at = await self._parts.access.cluster(principal, cluster_name, "jobs:submit")\n        order',
        "at = _unchecked(self._parts.access, cluster_name)\n        order",
        "/jobs",
    ),
    Mutant(
        JOBS,
        'at = await self._parts.access.cluster(principal, cluster_name, "jobs:submit")\n        _check_many',
        "at = _unchecked(self._parts.access, cluster_name)\n        _check_many",
        "jobs:submit",
    ),
    Mutant(
        JOBS,
        'cluster, scopes = await self._parts.access.cluster(principal, cluster_name, "jobs:submit")\n',
        "cluster, scopes = _unchecked(self._parts.access, cluster_name)\n",
        "validate",
    ),
    Mutant(
        JOBS,
        'cluster, scopes = await self._parts.access.cluster(principal, cluster_name, "jobs:cancel")\n'
        "        if",
        "cluster, scopes = _unchecked(self._parts.access, cluster_name)\n        if",
        "urgency",
    ),
    Mutant(JOBS, 'if "jobs:urgency" in scopes:', "if True:", "urgency"),
    Mutant(JOBS, "if urgency > USERS_URGENCY:", "if False:", "#high"),
    Mutant(
        JOBS,
        'job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:cancel")\n'
        "            if urgency",
        'job = await _of_anybody(self._parts, principal, cluster_name, text, "jobs:cancel")\n'
        "            if urgency",
        "urgency",
    ),
    Mutant(
        JOBS,
        'at = await self._parts.access.cluster(principal, cluster_name, "jobs:cancel")\n',
        "at = _unchecked(self._parts.access, cluster_name)\n",
        "jobs:cancel",
    ),
    Mutant(
        JOBS,
        'self._parts.visibility.many(principal, at, which, "jobs:cancel")',
        'self._parts.visibility.many(principal, (at[0], at[1] | {"jobs:cancel:all"}), which, "jobs:cancel")',
        "jobs:cancel",
    ),
    Mutant(
        JOBS,
        'job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:read")',
        'job = await _of_anybody(self._parts, principal, cluster_name, text, "jobs:read")',
        "why",
    ),
    Mutant(
        JOBS,
        'job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:cancel")\n'
        "        await self._parts.control.cancel",
        'job = await _of_anybody(self._parts, principal, cluster_name, text, "jobs:cancel")\n'
        "        await self._parts.control.cancel",
        "/cancel",
    ),
    Mutant(
        JOBS,
        'job = await self._parts.visibility.job(principal, cluster_name, text, "jobs:cancel")\n'
        "        await self._parts.control.kill",
        'job = await _of_anybody(self._parts, principal, cluster_name, text, "jobs:cancel")\n'
        "        await self._parts.control.kill",
        "/kill",
    ),
    Mutant(
        JOBS,
        'job = await parts.visibility.job(principal, cluster.name, text, "jobs:read")',
        "job = await parts.visibility.any_job(principal, cluster, text)",
        "#behind",
    ),
    Mutant(
        "jobs/output/visible_jobs.py",
        'found, _ = await self.access.cluster(principal, cluster, "jobs:read")',
        "found, _ = _unchecked(self.access, cluster)",
        "{cluster}/events",
    ),
    Mutant("jobs/output/visible_jobs.py", "if each.owner == principal.user", "if True", "{cluster}/events"),
    Mutant(
        "jobs/output/visible_jobs.py",
        'await self.visibility.job(principal, cluster, jobid, "jobs:read")',
        "pass",
        SCENARIOS,
    ),
    Mutant(
        "jobs/output/visible_jobs.py",
        'await self.access.cluster(principal, cluster, "jobs:read")\n\n',
        "pass\n\n",
        SCENARIOS,
    ),
    Mutant(
        "store/request_keys.py",
        '(REQUEST_KEYS.c.user == bindparam("user"))\n'
        '    & (REQUEST_KEYS.c.cluster == bindparam("cluster"))\n    & ',
        "",
        SCENARIOS,
    ),
]
REPORT = "jobs/usage_report.py"
USAGE = [
    Mutant(
        REPORT,
        'found, scopes = await self._access.cluster(principal, cluster, "jobs:read")',
        "found, scopes = _unchecked(self._access, cluster)",
        "usage",
    ),
    Mutant(REPORT, "if others and not principal.may(READ_ALL):", "if False:", "usage"),
    Mutant(REPORT, "if others and READ_ALL not in scopes:", "if False:", "usage"),
    Mutant(REPORT, "if READ_ALL in await self._access.scopes(principal, each)]", "]", "usage"),
]

SCOPES = [
    Mutant(file, f'{function}("{scope}")', f'{function}("")', routes)
    for file, function, routes, scopes in (
        ("compat/jobs.py", "requires", "/v1", ("jobs:read", "jobs:submit", "jobs:cancel", "clusters:read")),
        ("compat/output.py", "requires", "/v1", ("jobs:read",)),
        ("routes/jobs.py", "requires", "{cluster}/jobs", ("jobs:read", "jobs:submit", "jobs:cancel")),
        ("routes/nodes.py", "requires", "nodes", ("clusters:read", "nodes:drain")),
        ("routes/queues.py", "requires", "queues", ("clusters:read", "queues:manage")),
        ("routes/clusters.py", "requires", "/v2/clusters", ("clusters:read",)),
        ("routes/usage.py", "requires", "usage", ("jobs:read",)),
        ("routes/quotas.py", "requires", "quotas", ("users:read", "users:manage", "jobs:read")),
        ("routes/users.py", "requires", "/v2/users", ("users:read", "users:manage")),
        ("routes/audit_log.py", "requires", "audit", ("audit:read",)),
        ("routes/me.py", "requires", "me/tokens", ("tokens",)),
    )
    for scope in scopes
]
"""What each route needs, by the names that its file has for them."""
ACCESS = "routes/access.py"
TOKENS = [
    Mutant(
        "routes/live.py",
        "READS = requires(SCOPE, stream=True)",
        'READS = requires("", stream=True)',
        "/events",
    ),
    Mutant(
        "routes/live.py",
        "await services.following.check(await principal_of(request, stream=True), *what)",
        "await principal_of(request, stream=True)",
        SCENARIOS,
    ),
    Mutant(
        "routes/live.py",
        "await services.following.check(await principal_of(request, stream=True), *what)",
        "await services.following.check(principal, *what)",
        SCENARIOS,
    ),
    Mutant(ACCESS, "if scope and not found.may(scope):", "if False:", "/v2/users"),
    Mutant(ACCESS, "if not stated and identities.settings.no_auth:", "if not stated:", "/v2/me"),
    Mutant(
        ACCESS,
        "if record.kind is not CredentialKind.PERSONAL or record.revoked is not None:",
        "if record.kind is not CredentialKind.PERSONAL:",
        "/v2/me",
    ),
    Mutant(ACCESS, "if now >= record.expires:", "if False:", "/v2/me"),
    Mutant(
        ACCESS,
        "user = await _active(identities, record.user)",
        "user = await identities.authority.user(record.user)",
        "/v2/me",
    ),
    Mutant(ACCESS, "if claims.epoch != user.epoch or not", "if not", "/v2/me"),
    Mutant(ACCESS, "or not await identities.authority.alive(claims.session)", "", "/v2/me"),
    Mutant(ACCESS, "effective(record.scopes, user.role)", "BY_ROLE[user.role]", "/v2/me/tokens"),
    Mutant(ACCESS, "if stream and _is_stream(request) else None", "if True else None", "/v2/me"),
    Mutant(ACCESS, 'return request.method == "GET" and EVENTS in', "return True or EVENTS in", "#no events"),
    Mutant(
        ACCESS,
        "if not cookies.same_origin(request.headers, policy.origin):",
        "if False:",
        "#cross-site",
    ),
    Mutant(
        "identity/web_sessions.py",
        "if record is None or record.revoked is not None:",
        "if record is None:",
        "/device",
    ),
    Mutant(
        "identity/web_sessions.py",
        "if now >= min(record.expires, end):",
        "if now >= end:",
        "/device",
    ),
    Mutant(
        "page/browser_sessions.py",
        "if user is None or user.state is not UserState.ACTIVE:",
        "if user is None:",
        "/device",
    ),
    Mutant(
        "page/browser_sessions.py",
        'if not cookies.csrf_matches(session.csrf, form.one("csrf")):',
        "if False:",
        "#forged",
    ),
    Mutant("page/browser_sessions.py", "if not session.principal.may(scope):", "if False:", "/admin"),
    Mutant(
        "page/browser_sessions.py",
        "if not cookies.same_origin(request.headers, policy_of(request).origin):",
        "if False:",
        "#cross-site",
    ),
]
CREDENTIALS = [
    Mutant(
        "identity/personal_tokens.py",
        'require_login(principal, "make a personal token")',
        "pass",
        "/v2/me/tokens",
    ),
    Mutant("identity/personal_tokens.py", "require_scopes(wish.scopes, principal.scopes)", "pass", "#beyond"),
    Mutant("identity/devices.py", 'require_login(principal, "log in a device")', "pass", "/v2/me/device"),
    Mutant(
        "identity/user_changes.py",
        'require_login(principal, "change the password")',
        "pass",
        "/v2/me/password",
    ),
    Mutant(
        "identity/user_changes.py",
        'require_login(principal, "make a service account")',
        "pass",
        "/v2/clients",
    ),
    Mutant(
        "identity/user_changes.py", 'require_login(principal, "set a user\'s password")', "pass", "#password"
    ),
    Mutant("identity/user_changes.py", 'require_login(principal, f"give the role {role}")', "pass", "#admin"),
    Mutant("identity/user_changes.py", 'require_login(principal, "let a user in again")', "pass", "#active"),
    Mutant("identity/login_requirement.py", "if not principal.logged_in:", "if False:", "/v2/me"),
    Mutant(
        "identity/principal.py",
        'return self.kind in {"access", "session"}',
        'return self.kind != "pat"',
        "/v2/me/device",
    ),
    Mutant(
        "store/tokens.py",
        "(TOKENS.c.id == token, TOKENS.c.user == user, TOKENS",
        "(TOKENS.c.id == token, TOKENS",
        "tokens/",
    ),
    Mutant(
        "store/tokens.py",
        "TOKENS.c.user == user, TOKENS.c.kind == kind, TOKENS",
        "TOKENS.c.kind == kind, TOKENS",
        "/v2/me/tokens",
    ),
    Mutant("store/sessions.py", "where.append(SESSIONS.c.user == user)", "pass", "sessions/"),
    Mutant(
        "store/sessions.py",
        "found = select(SESSIONS).where(\n        SESSIONS.c.user == user,",
        "found = select(SESSIONS).where(",
        "/v2/me/sessions",
    ),
    Mutant(
        "identity/session_changes.py",
        "connection, session, now, principal.user)",
        "connection, session, now)",
        "sessions/",
    ),
]
MUTANTS = (*AT_CLUSTERS, *AT_JOBS, *USAGE, *SCOPES, *TOKENS, *CREDENTIALS)
