"""Each rule between fields: what breaks it, where, and in which words."""

from pathlib import Path

import pytest

from minicluster.document import DocumentError, load, messages
from minicluster.document.bound_rules import RULES
from queue_policies.errors import PluginWarning
from tests.queue_policies.installed_plugin import install_plugin

HEAD = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\n"
TWO = "containers: [{name: a, runFlux: true}, {name: b}]"
ONE = "containers: [{}]"


def broken(text: str) -> list[str]:
    """Return what is said, without lines."""
    with pytest.raises(DocumentError) as caught:
        load(text)
    return [f"{problem.path}: {problem.message}" for problem in caught.value.problems]


def spec(*lines: str, name: str = "m") -> str:
    """Return a document with these lines as its spec."""
    return f"{HEAD}metadata: {{name: {name}}}\nspec:\n" + "".join(f"  {line}\n" for line in lines)


def one(container: str) -> str:
    """Return a document with this one container."""
    return spec(f"containers: [{container}]")


def volume(content: str) -> str:
    """Return a document with one volume called v."""
    return one(f"{{volumes: {{v: {content}}}}}")


V = "spec.containers[0].volumes.v"
R = "spec.containers[0].resources"
T = "spec.pod.tolerations[0]"
VIEW_AS_RUNNER = '"flux" is already the name of the container that runs Flux'
BROKEN = {
    "size-at-least-one": (spec("size: 0", ONE), f"spec.size: {messages.SIZE_ZERO}"),
    "above maxSize": (
        spec("size: 5", "maxSize: 4", ONE),
        "spec.size: size must not be greater than maxSize: found 5, maxSize is 4",
    ),
    "below minSize": (
        spec("size: 1", "minSize: 2", ONE),
        "spec.size: size must not be less than minSize: found 1, minSize is 2",
    ),
    "size-within-start": (
        spec("size: 9", ONE) + "status: {maximumSize: 8}\n",
        f"spec.size: {messages.BEYOND_START}: found 9, allowed: 1 to 8",
    ),
    "no profile": (spec("granularity: scale", ONE), f"spec.granularity: {messages.GRANULARITY_PROFILE}"),
    "autoscaling below": (
        spec("size: 3", "minSize: 2", ONE, "autoscaling: {minSize: 1}"),
        "spec.autoscaling.minSize: autoscaling.minSize must not be less than minSize: found 1, minSize is 2",
    ),
    "autoscaling above": (
        spec("size: 3", "maxSize: 4", ONE, "autoscaling: {maxSize: 5}"),
        f"spec.autoscaling.maxSize: {messages.AUTOSCALING_MAX}: found 5, allowed: up to 4",
    ),
    "autoscaling order": (
        spec("size: 4", ONE, "autoscaling: {minSize: 4, maxSize: 3}"),
        f"spec.autoscaling.minSize: {messages.AUTOSCALING_ORDER}",
    ),
    "autoscaling order by default": (
        spec("size: 4", "minSize: 3", ONE, "autoscaling: {maxSize: 2}"),
        f"spec.autoscaling.minSize: {messages.AUTOSCALING_ORDER}",
    ),
    "autoscaling beyond": (
        spec("size: 2", ONE, "autoscaling: {minSize: 3}"),
        f"spec.autoscaling.minSize: {messages.AUTOSCALING_BEYOND}: found 3, allowed: up to 2",
    ),
    "autoscaling above the start": (
        spec("size: 1", ONE, "autoscaling: {maxSize: 5}") + "status: {maximumSize: 4}\n",
        f"spec.autoscaling.maxSize: {messages.AUTOSCALING_MAX}: found 5, allowed: up to 4",
    ),
    "name too long": (
        spec("size: 101", ONE, name="m" * 60),
        f"metadata.name: {messages.HOST_NAME_LENGTH}: found 60 characters, allowed: 59",
    ),
    "name too long when grown": (
        spec("maxSize: 1001", ONE, name="m" * 59),
        f"metadata.name: {messages.HOST_NAME_LENGTH}: found 59 characters, allowed: 58",
    ),
    "name too long for services": (
        spec(ONE, "services: [{name: s}]", name="m" * 55),
        f"metadata.name: {messages.SERVICES_NAME_LENGTH}: found 55 characters, allowed: 54",
    ),
    "no runner": (
        spec("containers: [{name: a}, {name: b}]"),
        f"spec.containers: {messages.ONE_RUNNER}; none of these does: a, b",
    ),
    "two runners": (
        spec("containers: [{name: a, runFlux: true}, {runFlux: true}, {name: c}]"),
        f"spec.containers: {messages.ONE_RUNNER}; these say so: a, containers[1]",
    ),
    "sidecar without name": (
        spec("containers: [{runFlux: true}, {}]"),
        f"spec.containers[1]: {messages.NAME_NEEDED}",
    ),
    "service without name": (
        spec(ONE, "services: [{}]"),
        f"spec.services[0]: {messages.SERVICE_NAME_NEEDED}",
    ),
    "same name": (
        spec("containers: [{name: a, runFlux: true}, {name: a}]"),
        f'spec.containers[1].name: {messages.SAME_NAME}: "a" is already the name of spec.containers[0]',
    ),
    "the name of a runner without one": (
        spec("containers: [{runFlux: true}, {name: flux}]"),
        (
            f"spec.containers[1].name: {messages.SAME_NAME}:"
            ' "flux" is already the name of spec.containers[0], which has none of its own'
        ),
    ),
    "the name of the Flux view": (
        spec("containers: [{name: flux-view}]"),
        (
            f"spec.containers[0].name: {messages.SAME_NAME}:"
            ' "flux-view" is already the name of spec.flux.container'
        ),
    ),
    "view-is-not-called-like-the-runner": (
        spec(ONE, "flux: {container: {name: flux}}"),
        f"spec.flux.container.name: {messages.SAME_NAME}: {VIEW_AS_RUNNER}",
    ),
    "launcher-or-batch": (
        one("{launcher: true, batch: true}"),
        f"spec.containers[0].batch: {messages.LAUNCHER_AND_BATCH}",
    ),
    "bounds-in-order": (
        spec("size: 0", "suspend: true", "minSize: 4", "maxSize: 1", ONE),
        "spec.minSize: minSize must not be greater than maxSize: found 4, maxSize is 1",
    ),
    "a quote that is open": (
        one("""{command: "echo 'it"}"""),
        f"spec.containers[0].command: {messages.OPEN_QUOTE}: found '",
    ),
    "a double quote that is open to the last line": (
        one(r"""{launcher: true, command: "flux run \"a b\n# it's\n"}"""),
        f'spec.containers[0].command: {messages.OPEN_QUOTE}: found "',
    ),
    "a space in an image": (
        one("{image: a b}"),
        f"spec.containers[0].image: {messages.IMAGE_NAME}: found 'a b'",
    ),
    "a line break in an image": (
        one(r"""{image: "app\n"}"""),
        rf"spec.containers[0].image: {messages.IMAGE_NAME}: found 'app\n'",
    ),
    "a space in the view's image": (
        spec(ONE, "flux: {container: {image: 'a b'}}"),
        f"spec.flux.container.image: {messages.IMAGE_NAME}: found 'a b'",
    ),
    "script-or-command": (
        one("{command: a, commands: {script: b}}"),
        f"spec.containers[0].commands.script: {messages.SCRIPT_AND_COMMAND}",
    ),
    "services-have-no-broker-hooks": (
        spec(ONE, "services: [{name: s, commands: {workerPre: a}}]"),
        f"spec.services[0].commands.workerPre: {messages.SERVICE_HOOKS}",
    ),
    "ports-differ": (
        one("{ports: [80, 81, 80]}"),
        f"spec.containers[0].ports[2]: {messages.SAME_PORT}: 80",
    ),
    "variables-given-once": (
        one("{environment: {A: x}, secrets: {A: {name: n, key: k}}}"),
        f"spec.containers[0].secrets.A: {messages.VARIABLE_TWICE}",
    ),
    "affinity-not-contradictory": (
        spec(ONE, "network: {disableAffinity: true, onePerNode: Required}"),
        f"spec.network.disableAffinity: {messages.AFFINITY}",
    ),
    "hostlist-or-clusters": (
        spec(ONE, "flux: {bursting: {hostlist: 'a[0-1]', clusters: [{}]}}"),
        f"spec.flux.bursting.hostlist: {messages.HOSTLIST_AND_CLUSTERS}",
    ),
    "lead-broker-complete": (
        spec(ONE, "flux: {bursting: {leadBroker: {address: a}}}"),
        f"spec.flux.bursting.leadBroker: {messages.LEAD_BROKER}",
    ),
    "bursting-has-hosts": (
        spec(ONE, "bursting: {}", "flux: {bursting: {clusters: []}}"),
        f"spec.bursting: {messages.BURSTING_HOSTS}",
    ),
    "bursting-or-lead-broker": (
        spec(
            ONE,
            "bursting: {}",
            "flux: {bursting: {leadBroker: {address: a, name: b, size: 1}, clusters: [{}]}}",
        ),
        f"spec.bursting: {messages.BURSTING_AND_LEAD}",
    ),
    "lost-after-the-fence": (
        spec(ONE, "bursting: {fenceSeconds: 46}", "flux: {bursting: {clusters: [{}]}}"),
        f"spec.bursting.lostAfterSeconds: {messages.LOST_BEFORE_FENCE}: found 60, fenceSeconds is 46",
    ),
    "two sources": (
        volume("{path: /a, hostPath: /b, claimName: c}"),
        f"{V}: {messages.VOLUME_SOURCE}; found hostPath and claimName",
    ),
    "claim without path": (volume("{claimName: c}"), f"{V}: {messages.VOLUME_PATH}"),
    "hostPath without path": (volume("{hostPath: /c}"), f"{V}: {messages.VOLUME_PATH}"),
    "nothing": (volume("{}"), f"{V}: {messages.VOLUME_PATH}"),
    "items of a claim": (
        volume("{claimName: c, path: /a, items: {a: b}}"),
        f"{V}.items: {messages.VOLUME_EXTRA}",
    ),
    "medium of a hostPath": (
        volume("{hostPath: /c, path: /a, emptyDirMedium: Memory}"),
        f"{V}.emptyDirMedium: {messages.VOLUME_EXTRA}",
    ),
    "limit of a hostPath": (
        volume("{hostPath: /c, path: /a, emptyDirSizeLimit: 1Gi}"),
        f"{V}.emptyDirSizeLimit: {messages.VOLUME_EXTRA}",
    ),
    "attributes of a hostPath": (
        volume("{hostPath: /c, path: /a, csiDriverAttributes: {a: b}}"),
        f"{V}.csiDriverAttributes: {messages.VOLUME_EXTRA}",
    ),
    "volumes-agree-between-containers": (
        spec(
            "containers:",
            "- {name: a, runFlux: true, volumes: {v: {path: /a, hostPath: /x}}}",
            "- {name: b, volumes: {v: {path: /b, hostPath: /y}}}",
        ),
        f"spec.containers[1].volumes.v: {messages.VOLUME_TWICE}",
    ),
    "tolerationSeconds": (
        spec(ONE, "pod: {tolerations: [{key: a, tolerationSeconds: 1}]}"),
        f"{T}.tolerationSeconds: {messages.TOLERATION_SECONDS}",
    ),
    "toleration without key": (spec(ONE, "pod: {tolerations: [{}]}"), f"{T}: {messages.TOLERATION_KEY}"),
    "toleration with value": (
        spec(ONE, "pod: {tolerations: [{operator: Exists, value: a}]}"),
        f"{T}.value: {messages.TOLERATION_VALUE}",
    ),
    "claims-exist": (
        spec("containers: [{resources: {claims: [{name: gpu}]}}]", "pod: {resourceClaims: []}"),
        f'spec.containers[0].resources.claims[0].name: {messages.CLAIM_UNKNOWN}: found "gpu", there: none',
    ),
    "claims-have-one-source": (
        spec(ONE, "pod: {resourceClaims: [{name: gpu}]}"),
        f"spec.pod.resourceClaims[0]: {messages.CLAIM_SOURCE}",
    ),
    "state-volume-has-one-source": (
        spec(ONE, "flux: {stateVolume: {}}"),
        f"spec.flux.stateVolume: {messages.STATE_SOURCE}",
    ),
    "requests-within-limits": (
        one("{resources: {limits: {cpu: 1}, requests: {cpu: 1500m}}}"),
        f"{R}.requests.cpu: {messages.REQUEST_ABOVE_LIMIT}: found 1500m, the limit is 1",
    ),
    "requests-within-limits, as numbers": (
        one("{resources: {limits: {cpu: 9}, requests: {cpu: 10}}}"),
        f"{R}.requests.cpu: {messages.REQUEST_ABOVE_LIMIT}: found 10, the limit is 9",
    ),
    "policy": (
        spec(ONE, "flux: {scheduler: {queuePolicy: esay}}"),
        'spec.flux.scheduler.queuePolicy: no policy is called "esay"; did you mean "easy"?',
    ),
    "policy setting": (
        spec(ONE, "flux: {scheduler: {queuePolicy: minicluster/fcfs, settings: {zzz: 1}}}"),
        "spec.flux.scheduler.settings: queue policy fcfs: unknown setting 'zzz'; it has none",
    ),
    "hostlist": (
        spec(ONE, "flux: {bursting: {hostlist: 'a[0-'}}"),
        "spec.flux.bursting.hostlist: ",
    ),
    "an address within its range": (
        spec(ONE, "bursting: {sourceRanges: [10.0.0.1/8]}", "flux: {bursting: {clusters: [{}]}}"),
        "spec.bursting.sourceRanges[0]: 10.0.0.1/8 has host bits set; right would be 10.0.0.0/8",
    ),
    "a range that is no address's": (
        spec(ONE, "bursting: {sourceRanges: ['::1::2:3/8']}", "flux: {bursting: {clusters: [{}]}}"),
        "spec.bursting.sourceRanges[0]: '::1::2:3/8' does not appear to be an IPv4 or IPv6 network",
    ),
    "broker.toml": (
        spec(ONE, "flux: {brokerConfig: 'a = '}"),
        "spec.flux.brokerConfig: ",
    ),
    "certificate": (
        spec(ONE, "flux: {curveCert: s3cret}"),
        "spec.flux.curveCert: ",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_named(text: str, message: str) -> None:
    """One sentence; where a parser of the brokers' files speaks, its own words follow the path."""
    (problem,) = broken(text)
    assert problem.startswith(message) if message.endswith(": ") else problem == message
    assert "s3cret" not in problem


def test_minsize_above_maxsize_is_named_beside_the_size() -> None:
    """Both sentences are true, so both are said."""
    assert broken(spec("size: 5", "minSize: 6", "maxSize: 4", ONE)) == [
        "spec.size: size must not be greater than maxSize: found 5, maxSize is 4",
        "spec.size: size must not be less than minSize: found 5, minSize is 6",
        "spec.minSize: minSize must not be greater than maxSize: found 6, maxSize is 4",
    ]


FINE = {
    "bursting with all its defaults": spec(ONE, "bursting: {}", "flux: {bursting: {clusters: [{}]}}"),
    "bursting by a list of hosts": spec(ONE, "bursting: {}", "flux: {bursting: {hostlist: 'm-0,far[0-3]'}}"),
    "jobs in instances of their own": spec(ONE, "bursting: {join: false}"),
    "lost as soon as may be": spec(
        ONE, "bursting: {fenceSeconds: 30, lostAfterSeconds: 45}", "flux: {bursting: {clusters: [{}]}}"
    ),
    "autoscaling without maxSize, shrunk": spec("size: 1", ONE, "autoscaling: {maxSize: 4}")
    + "status: {maximumSize: 4}\n",
    "autoscaling as small as minSize by default": spec("size: 3", "minSize: 2", ONE, "autoscaling: {}"),
    "autoscaling of one that waits without a size": spec(
        "size: 0", "suspend: true", ONE, "autoscaling: {minSize: 2, maxSize: 4}"
    ),
    "suspended without brokers": spec("size: 0", "suspend: true", "minSize: 2", ONE),
    "one container of several runs Flux": spec(TWO),
    "a single container need not say so": spec(ONE),
    "a sidecar may have both": spec(
        "containers: [{name: a, runFlux: true}, {name: b, command: x, commands: {script: y}}]"
    ),
    "no deadline": spec("deadlineSeconds: 0", "backoffLimit: 0", "tasks: 0", ONE),
    "a path alone is an emptyDir": volume("{path: /a, emptyDirSizeLimit: 1Gi}"),
    "a secret needs no path": volume("{secretName: s}"),
    "the same volume twice": spec(
        "containers:",
        "- {name: a, runFlux: true, volumes: {v: {path: /a, hostPath: /x}}}",
        "- {name: b, volumes: {v: {path: /b, hostPath: /x, readOnly: true}}}",
    ),
    "everything is tolerated": spec(ONE, "pod: {tolerations: [{operator: Exists}]}"),
    "longest name": spec("size: 10", ONE, name="m" * 61),
    "a policy of ours": spec(ONE, "flux: {scheduler: {queuePolicy: minicluster/easy}}"),
    "a policy of Fluxion": spec(ONE, "flux: {scheduler: {queuePolicy: conservative}}"),
    "an open quote in a batch": one("""{batch: true, command: "echo 'it"}"""),
    "an open quote in a sidecar": spec('containers: [{runFlux: true}, {name: b, command: "echo \'it"}]'),
    "an open quote in a later line": one(r"""{command: "exit 0\necho 'it"}"""),
    "an image of a view that is switched off": spec(ONE, "flux: {container: {disable: true, image: 'a b'}}"),
    "an empty policy": spec(ONE, "flux: {scheduler: {queuePolicy: ''}}"),
    "flags end with a line break": spec(ONE, "flux:", "  optionFlags: |", "    -o cpu-affinity=off"),
}


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_what_is_allowed_is_accepted(text: str) -> None:
    """No rule is stricter than it says."""
    assert len(load(text)) == 1


def test_rules_have_names_of_their_own() -> None:
    """So that they can be talked about."""
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names) > 20


@pytest.fixture
def sjf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Install a plug-in that does not load; return what is wrong with it."""
    install_plugin(tmp_path, "sjf", "my_sjf", "import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    return "policy plug-in sjf (my_sjf) does not load: ModuleNotFoundError: No module named 'no_such_module'"


@pytest.mark.parametrize("name", ["sjf", "minicluster/sjf"])
def test_a_policy_whose_plugin_does_not_load_reports_why(sjf: str, name: str) -> None:
    assert broken(spec(ONE, f"flux: {{scheduler: {{queuePolicy: {name}}}}}")) == [
        f"spec.flux.scheduler.queuePolicy: {sjf}"
    ]


def test_another_policys_plugin_that_does_not_load_is_a_warning(sjf: str) -> None:
    with pytest.warns(PluginWarning) as warned:
        (cluster,) = load(spec(ONE, "flux: {scheduler: {queuePolicy: minicluster/easy}}"))
    assert cluster.spec.flux.scheduler.queue_policy == "minicluster/easy"
    assert [str(each.message) for each in warned] == [f"{sjf}; it is passed over"]


def test_an_unknown_policy_names_the_plugins_that_may_have_it(sjf: str) -> None:
    assert broken(spec(ONE, "flux: {scheduler: {queuePolicy: minicluster/esy}}")) == [
        (
            f'spec.flux.scheduler.queuePolicy: no policy is called "minicluster/esy";'
            f' did you mean "minicluster/easy"?; {sjf}'
        )
    ]


def test_an_unknown_policy_like_no_other_gets_the_names_of_all() -> None:
    """Fluxion's first."""
    (problem,) = broken(spec(ONE, "flux: {scheduler: {queuePolicy: zzz}}"))
    assert 'no policy is called "zzz"; known: fcfs, easy, conservative, hybrid, ' in problem
