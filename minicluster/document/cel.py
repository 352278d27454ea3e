"""The rules between fields that an API server can check itself, written in CEL.

Each has the message of the same rule in `rules.py`, so that users get the same text from both. A field path
has `[]` for the items of a list and `*` for the values of a map.
"""

from __future__ import annotations

from minicluster.document import messages
from minicluster.document.bounds import MAX_CORES, MAX_GPUS, MAX_HOSTS
from minicluster.document.bursting_cel import bursting_rules
from minicluster.document.cel_rule import CelRule
from minicluster.document.cel_rule import count as _count
from minicluster.document.cel_rule import given as _given
from minicluster.document.cel_rule import is_true as _true
from minicluster.document.modes import RUNNER_NAME
from minicluster.document.scalars import DNS_LABEL, VARIABLE, TextPattern

_RUNS_FLUX = "(has(c.runFlux) && c.runFlux)"
_NAMED = "(has(c.name) && c.name != '')"
_UNIQUE = (
    "self.{0}.all(c, !has(c.name) || c.name == '' || self.{0}.exists_one(d, has(d.name) && d.name == c.name))"
)
_SOURCES = (
    _given("hostPath"),
    _given("configMapName"),
    _given("claimName"),
    _given("secretName"),
    _given("csiDriver"),
    _true("emptyDir"),
)
_START_SIZE = (  # brokers that were cut are several hosts each
    "(self.status.maximumSize / (has(self.status.granularity) && self.status.granularity.brokers > 0"
    " ? self.status.granularity.brokers : 1))"
)
_GREATEST = (
    "has(self.status) && has(self.status.maximumSize) && self.status.maximumSize > 0"
    f" ? {_START_SIZE}"
    " : has(self.spec.maxSize) && self.spec.maxSize > 0 ? self.spec.maxSize : self.spec.size"
)
_STARTED = "has(oldSelf.status) && has(oldSelf.status.maximumSize) && oldSelf.status.maximumSize > 0"


def _local(spec: str) -> str:
    """Return CEL for the number of hosts that a spec asks for here."""
    size = f"{spec}.size > 0 ? {spec}.size : 1"
    return f"(has({spec}.maxSize) && {spec}.maxSize > 0 ? {spec}.maxSize : {size})"


_BURSTING = "has(self.flux) && has(self.flux.bursting)"
_LEAD = "self.flux.bursting.leadBroker"
_CLUSTERS = "self.flux.bursting.clusters"
_HOSTS = (
    f"({_BURSTING} && has({_LEAD}) && has({_LEAD}.size) && has({_LEAD}.address) && {_LEAD}.address != ''"
    f" ? {_LEAD}.size : {_local('self')})"
    f" + ({_BURSTING} && has({_CLUSTERS})"
    f" ? {_CLUSTERS}.map(c, has(c.size) && c.size > 0 ? c.size : {_local('self')}).sum() : 0)"
)
"""All hosts of a spec; `bound_rules.hosts_within_bound` counts them so, too."""
_NO_LARGER = (
    f"oldSelf.hasValue() && {_local('self')} <= {_local('oldSelf.value()')}"
    " && has(self.flux) == has(oldSelf.value().flux)"
    " && (!has(self.flux) || self.flux == oldSelf.value().flux)"
)

IMMUTABLE: dict[str, str] = {
    "containers": "the Job's pods are made from them once",
    "services": "the services pod is made from them once",
    "maxSize": "brokers read their list of hosts only at start",
    "tasks": "the main command is submitted once",
    "profile": "the main command is submitted once, and the pods are made for it",
    "granularity": "the pods are made by it once",
    "drainTimeoutSeconds": "the pods' grace period is made from it once",
    "interactive": "the lead broker decides at start whether it has a main command",
    "jobLabels": "Kueue and others read the Job's labels when it is created",
    "shareProcessNamespace": "the Job's pods are made from it once",
    "archive": "brokers are told at start what to restore and where to save",
    "managedBy": "two controllers would look after one MiniCluster",
    "network": "brokers read their addresses only at start",
    "logging": "the start script reads it only at start",
    "pod": "the Job's pods are made from it once",
    "flux": "brokers read their configuration only at start",
}
"""Fields of `spec` that cannot change once brokers have been made, each with the reason."""


def _frozen(name: str) -> CelRule:
    """Return the rule by which a field cannot change once brokers have been made."""
    same = f"self.spec.{name} == oldSelf.spec.{name}"
    there = f"has(self.spec.{name})"
    before = f"has(oldSelf.spec.{name})"
    return CelRule(
        "",
        f"!({_STARTED}) || ({there} == {before} && (!{there} || {same}))",
        f"spec.{name} cannot change once brokers were made ({IMMUTABLE[name]}); make a new MiniCluster",
    )


def _number(amount: str) -> str:
    """Return CEL for the number of a quantity, 0.0 for one with a suffix.

    `quantity()` could read that too, but the API server reckons with 3 MB for an integer or string, and so
    with more than a rule may cost.
    """
    digits = ", ".join(f"'{digit}'" for digit in "0123456789.")
    plain = f"type({amount}) == int || [{digits}].exists(d, {amount}.endsWith(d))"
    return f"({plain} ? double({amount}) : 0.0)"


def _cores_within(kind: str) -> str:
    """Return CEL for: the CPUs of the container c are within their bound, as limits or requests."""
    cores = _number(f"c.resources.{kind}['cpu']")
    return f"(!has(c.resources.{kind}) || !('cpu' in c.resources.{kind}) || {cores} <= {MAX_CORES}.0)"


def _names(field_path: str, shape: TextPattern) -> CelRule:
    """Return the rule for the keys of a map, for which a structural schema has no pattern."""
    return CelRule(
        field_path,
        f"self.all(name, name.matches('^({shape.pattern})$'))",
        f"{messages.BAD_NAME} {shape.allowed}",
    )


_IS_GPU = (
    "(n.endsWith('/gpu') || n.endsWith('/gpu.shared') || n.startsWith('nvidia.com/mig-')"
    " || n.startsWith('gpu.intel.com/') && !n.endsWith('_monitoring'))"
)
_GPUS = f"{_IS_GPU} ? int([{_number('c.resources.limits[n]')}, {MAX_GPUS + 1}.0].min()) : 0"
_GPUS_WITHIN = f"(!has(c.resources.limits) || c.resources.limits.map(n, {_GPUS}).sum() <= {MAX_GPUS})"


def _each_within(field_path: str, rule: str, message: str) -> CelRule:
    """Return the rule for the resources of each container in a list; a stored list may stay as it is.

    Kubernetes itself checks no rule again of what stays, but 1.31 does where a status is written.
    """
    each = f"self.all(c, !has(c.resources) || {rule})"
    return CelRule(field_path, f"{each} || oldSelf.hasValue() && self == oldSelf.value()", message, True)


RULES: tuple[CelRule, ...] = (
    CelRule(
        "",
        "!has(self.status) || !has(self.status.maximumSize) || self.status.maximumSize == 0"
        f" || !has(self.spec.size) || self.spec.size <= {_START_SIZE}",
        messages.BEYOND_START,
    ),
    CelRule(
        "",
        "size(self.metadata.name) + 1 + size(string((has(self.spec.maxSize) && self.spec.maxSize > 0"
        " ? self.spec.maxSize : (self.spec.size > 0 ? self.spec.size : 1)) - 1)) <= 63",
        messages.HOST_NAME_LENGTH,
    ),
    CelRule(
        "",
        "!has(self.spec.services) || size(self.spec.services) == 0 || size(self.metadata.name) <= 54",
        messages.SERVICES_NAME_LENGTH,
    ),
    *(_frozen(name) for name in IMMUTABLE),
    CelRule("spec", f"self.size > 0 || {_true('suspend')}", messages.SIZE_ZERO),
    CelRule(
        "spec",
        "!has(self.maxSize) || self.maxSize == 0 || self.size <= self.maxSize",
        messages.ABOVE_MAX_SIZE,
    ),
    CelRule(
        "spec",
        "!has(self.minSize) || self.minSize == 0 || self.minSize <= self.size || self.size == 0",
        messages.BELOW_MIN_SIZE,
    ),
    CelRule(
        "spec",
        "!has(self.minSize) || !has(self.maxSize) || self.maxSize == 0 || self.minSize <= self.maxSize",
        messages.MIN_ABOVE_MAX,
    ),
    # What was stored before there were these rules still gets its status, and can shrink.
    CelRule("spec", f"{_HOSTS} <= {MAX_HOSTS} || {_NO_LARGER}", messages.TOO_MANY_HOSTS, optional_old=True),
    *(
        _each_within(field_path, rule, message)
        for field_path in ("spec.containers", "spec.services")
        for rule, message in (
            (f"{_cores_within('limits')} && {_cores_within('requests')}", messages.TOO_MANY_CORES),
            (_GPUS_WITHIN, messages.TOO_MANY_GPUS),
        )
    ),
    CelRule(
        "spec",
        f"size(self.containers) <= 1 || self.containers.exists_one(c, {_RUNS_FLUX})",
        messages.ONE_RUNNER,
    ),
    CelRule(
        "spec",
        f"size(self.containers) <= 1 || self.containers.all(c, {_RUNS_FLUX} || {_NAMED})",
        messages.NAME_NEEDED,
    ),
    CelRule("spec", _UNIQUE.format("containers"), messages.SAME_NAME),
    CelRule(
        "spec",
        f"!self.containers.exists(c, {_RUNS_FLUX} && !({_NAMED}))"
        f" || !self.containers.exists(c, has(c.name) && c.name == '{RUNNER_NAME}')",
        messages.SAME_NAME,
    ),
    CelRule(
        "spec",
        "has(self.flux) && has(self.flux.container) && has(self.flux.container.disable)"
        " && self.flux.container.disable || !self.containers.exists(c, has(c.name) && c.name =="
        " (has(self.flux) && has(self.flux.container) && has(self.flux.container.name)"
        " ? self.flux.container.name : 'flux-view'))",
        messages.SAME_NAME,
    ),
    CelRule(
        "spec",
        "!has(self.flux) || !has(self.flux.container) || !has(self.flux.container.name)"
        f" || self.flux.container.name != '{RUNNER_NAME}'"
        " || has(self.flux.container.disable) && self.flux.container.disable"
        f" || !self.containers.exists(c, !({_NAMED}) && (size(self.containers) == 1 || {_RUNS_FLUX}))",
        messages.SAME_NAME,
    ),
    CelRule(
        "spec",
        f"!has(self.services) || self.services.all(c, {_NAMED})",
        messages.SERVICE_NAME_NEEDED,
    ),
    CelRule("spec", "!has(self.services) || " + _UNIQUE.format("services"), messages.SAME_NAME),
    CelRule(
        "spec",
        "!has(self.services) || self.services.all(c, !has(c.commands) || ["
        "has(c.commands.pre) && c.commands.pre != '',"
        " has(c.commands.brokerPre) && c.commands.brokerPre != '',"
        " has(c.commands.workerPre) && c.commands.workerPre != ''].all(given, !given))",
        messages.SERVICE_HOOKS,
    ),
    CelRule(
        "spec",
        "self.containers.all(c, !(size(self.containers) == 1 || (has(c.runFlux) && c.runFlux))"
        " || !(has(c.command) && c.command != '')"
        " || !(has(c.commands) && has(c.commands.script) && c.commands.script != ''))",
        messages.SCRIPT_AND_COMMAND,
    ),
    CelRule(
        "spec",
        "!has(self.autoscaling) || !has(self.autoscaling.minSize) || self.autoscaling.minSize == 0"
        " || !has(self.minSize) || self.autoscaling.minSize >= self.minSize",
        messages.AUTOSCALING_MIN,
    ),
    *(
        CelRule(
            "",
            f"!has(self.spec.autoscaling) || !has(self.spec.autoscaling.{name})"
            f" || ({_GREATEST}) == 0 || self.spec.autoscaling.{name} <= ({_GREATEST})",
            message,
        )
        for name, message in (
            ("minSize", messages.AUTOSCALING_BEYOND),
            ("maxSize", messages.AUTOSCALING_MAX),
        )
    ),
    CelRule(
        "spec",
        "!has(self.autoscaling) || !has(self.autoscaling.maxSize) || self.autoscaling.maxSize == 0"
        " || [has(self.autoscaling.minSize) ? self.autoscaling.minSize : 0,"
        " has(self.minSize) ? self.minSize : 0].all(least, least <= self.autoscaling.maxSize)",
        messages.AUTOSCALING_ORDER,
    ),
    *(
        CelRule(field_path, f"!({_true('launcher')} && {_true('batch')})", messages.LAUNCHER_AND_BATCH)
        for field_path in ("spec.containers[]", "spec.services[]")
    ),
    *(
        rule
        for field_path in ("spec.containers[]", "spec.services[]")
        for rule in (
            CelRule(
                field_path,
                "!has(self.environment) || !has(self.secrets)"
                " || self.secrets.all(name, !(name in self.environment))",
                messages.VARIABLE_TWICE,
            ),
            CelRule(f"{field_path}.ports", "self.all(p, self.exists_one(q, p == q))", messages.SAME_PORT),
            CelRule(f"{field_path}.volumes.*", f"{_count(*_SOURCES)} <= 1", messages.VOLUME_SOURCE),
            CelRule(
                f"{field_path}.volumes.*",
                f"!({_given('emptyDirMedium')} || has(self.emptyDirSizeLimit))"
                f" || !({' || '.join(_SOURCES[:-1])})",
                messages.VOLUME_EXTRA,
            ),
            CelRule(
                f"{field_path}.volumes.*",
                f"{_given('path')} || {' || '.join((*_SOURCES[1:2], *_SOURCES[3:]))}",
                messages.VOLUME_PATH,
            ),
        )
    ),
    *(
        _names(f"{field_path}.{field}", shape)
        for field_path in ("spec.containers[]", "spec.services[]")
        for field, shape in (("environment", VARIABLE), ("secrets", VARIABLE), ("volumes", DNS_LABEL))
    ),
    _names("spec.flux.environment", VARIABLE),
    CelRule(
        "spec",
        "!has(self.granularity) || self.granularity == 'none' || has(self.profile)",
        messages.GRANULARITY_PROFILE,
    ),
    CelRule(
        "spec.network",
        f"!({_true('disableAffinity')} && self.onePerNode == 'Required')",
        messages.AFFINITY,
    ),
    CelRule(
        "spec.pod.tolerations[]",
        "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        messages.TOLERATION_SECONDS,
    ),
    CelRule(
        "spec.pod.tolerations[]",
        f"{_given('key')} || (has(self.operator) && self.operator == 'Exists')",
        messages.TOLERATION_KEY,
    ),
    CelRule(
        "spec.pod.tolerations[]",
        f"!(has(self.operator) && self.operator == 'Exists') || !{_given('value')}",
        messages.TOLERATION_VALUE,
    ),
    CelRule(
        "spec.pod.resourceClaims[]",
        f"{_count(_given('resourceClaimName'), _given('resourceClaimTemplateName'))} == 1",
        messages.CLAIM_SOURCE,
    ),
    CelRule(
        "spec.flux.stateVolume",
        f"{_count(_given('claimName'), _given('hostPath'))} == 1",
        messages.STATE_SOURCE,
    ),
    *bursting_rules(_STARTED, IMMUTABLE["flux"]),
    CelRule(
        "spec.flux.bursting",
        f"!({_given('hostlist')} && has(self.clusters) && size(self.clusters) > 0)",
        messages.HOSTLIST_AND_CLUSTERS,
    ),
    CelRule(
        "spec.flux.bursting.leadBroker",
        f"!{_given('address')} || ({_given('name')} && has(self.size) && self.size > 0)",
        messages.LEAD_BROKER,
    ),
)
