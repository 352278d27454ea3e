# ruff: noqa: E501  # whole messages, on one line each, as people read them
"""Each seeded mistake is named with its line, its path, what was found and what is right."""

from textwrap import dedent, indent

import pytest

from minicluster.document import DocumentError, load

HEAD = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: m}\nspec:\n"
RUNS = "  containers: [{command: hostname}]\n"


def messages(text: str) -> list[str]:
    """Return what is said about a document called m.yaml."""
    with pytest.raises(DocumentError) as caught:
        load(text, source="m.yaml")
    return str(caught.value).splitlines()


MISTAKES = {
    "unknown field": (
        "containers:\n    - comand: x",
        '6: spec.containers[0].comand: unknown field; did you mean "command"?',
    ),
    "field of another place": (
        "nodeSelector: {}",
        '6: spec.nodeSelector: unknown field; did you mean "spec.pod.nodeSelector"?',
    ),
    "field like no other": (
        "archive: {zzzz: 1}",
        "6: spec.archive.zzzz: unknown field; known here: path",
    ),
    "environment of a pod": (
        "containers:\n    - env: []",
        '6: spec.containers[0].env: unknown field; did you mean "environment"?',
    ),
    "size of a deployment": ("replicas: 3", '6: spec.replicas: unknown field; did you mean "size"?'),
    "command of a pod": (
        "containers:\n    - command: [python, my train.py]",
        "6: spec.containers[0].command: found a list, allowed is a text; write one line: \"python 'my train.py'\"",
    ),
    "snake case": (
        "drain_timeout_seconds: 5",
        '6: spec.drain_timeout_seconds: unknown field; did you mean "drainTimeoutSeconds"?',
    ),
    "wrong case": ("Size: 5", '6: spec.Size: unknown field; did you mean "size"?'),
    "text for a number": (
        'size: "5"',
        '6: spec.size: found the text "5", allowed is a whole number from 0 to 100000; write 5 without quotes',
    ),
    "words for a number": (
        "size: many",
        '6: spec.size: found the text "many", allowed is a whole number from 0 to 100000',
    ),
    "fraction": (
        "size: 2.5",
        "6: spec.size: found the number 2.5, allowed is a whole number from 0 to 100000",
    ),
    "true for a number": (
        "size: yes",
        "6: spec.size: found true, allowed is a whole number from 0 to 100000",
    ),
    "below": (
        "tasks: -1",
        "6: spec.tasks: found the number -1, allowed is a whole number from 0 to 2147483647",
    ),
    "above": (
        "flux: {logLevel: 9}",
        "6: spec.flux.logLevel: found the number 9, allowed is a whole number from 0 to 7",
    ),
    "unbounded": (
        "deadlineSeconds: -5",
        "6: spec.deadlineSeconds: found the number -5, allowed is a whole number of at least 0",
    ),
    "text for a flag": (
        'suspend: "true"',
        '6: spec.suspend: found the text "true", allowed is true or false; write true without quotes',
    ),
    "number for a flag": ("suspend: 1", "6: spec.suspend: found the number 1, allowed is true or false"),
    "off for a flag": (
        'suspend: "off"',
        '6: spec.suspend: found the text "off", allowed is true or false; write false without quotes',
    ),
    "number for a text": (
        "jobLabels: {a: 1_0}",
        '6: spec.jobLabels.a: found the number 10, allowed is a text; write "1_0" in quotes',
    ),
    "flag for a text": (
        "jobLabels: {a: yes}",
        '6: spec.jobLabels.a: found true, allowed is a text; write "yes" in quotes',
    ),
    "null for a text": (
        "jobLabels:\n    a:",
        '7: spec.jobLabels.a: found nothing (null), allowed is a text; write "" for an empty text',
    ),
    "list for a text": ("archive: {path: [a]}", "6: spec.archive.path: found a list, allowed is a text"),
    "mapping for a list": (
        "containers: {command: x}",
        '5: spec.containers: found a mapping, allowed is a list; begin each entry with "- "',
    ),
    "text for a list": (
        "pod: {nodeAffinity: {zone: a}}",
        '6: spec.pod.nodeAffinity.zone: found the text "a", allowed is a list; write ["a"]',
    ),
    "text for a mapping": ("network: x", '6: spec.network: found the text "x", allowed is a mapping'),
    "wrong word": (
        "pod: {restartPolicy: Always}",
        '6: spec.pod.restartPolicy: found the text "Always", allowed is "Never" or "OnFailure"',
    ),
    "misspelt word": (
        "network: {onePerNode: prefered}",
        '6: spec.network.onePerNode: found the text "prefered", allowed is "Preferred" or "Required"; did you mean "Preferred"?',
    ),
    "misspelt profile": (
        "profile: memmory",
        '6: spec.profile: found the text "memmory", allowed is "cpu" or "memory" or "network" or "io"; did you mean "memory"?',
    ),
    "misspelt granularity": (
        "profile: cpu\n  granularity: scal",
        '7: spec.granularity: found the text "scal", allowed is "none" or "scale" or "granularity" or "predicted"; did you mean "scale"?',
    ),
    "no container": (
        "containers: []",
        "5: spec.containers: found an empty list, allowed is a list of 1 to 32 entries",
    ),
    "too many": (
        f"containers: {[{}] * 33}".replace("'", ""),
        "5: spec.containers: found a list, allowed is a list of 1 to 32 entries",
    ),
    "bad quantity": (
        "pod: {resources: {memory: 4 GB}}",
        '6: spec.pod.resources.memory: found the text "4 GB", allowed is a Kubernetes quantity, such as 2, "500m", "1.5" or "4Gi"',
    ),
    "fraction for a quantity": (
        "pod: {resources: {cpu: 0.5}}",
        '6: spec.pod.resources.cpu: found the number 0.5, allowed is a quantity, such as 2, "500m", "1.5" or "4Gi"; write "0.5" in quotes',
    ),
    "bad duration": (
        "flux: {connectTimeout: 5 s}",
        '6: spec.flux.connectTimeout: found the text "5 s", allowed is a Flux duration: a number with ms, s, m, h or d, such as "5s", or "inf"',
    ),
    "bad topology": (
        "flux: {topology: kary}",
        '6: spec.flux.topology: found the text "kary", allowed is "kary:N" (N at least 1), "binomial" or "custom"',
    ),
    "relative path": (
        "archive: {path: a/b}",
        '6: spec.archive.path: found the text "a/b", allowed is an absolute path, beginning with /',
    ),
    "bad name": (
        "network: {headlessName: A_b}",
        '6: spec.network.headlessName: found the text "A_b", allowed is a host name: a-z, 0-9 and "-", beginning with a letter',
    ),
    "bad variable": (
        "flux: {environment: {A-B: x}}",
        '6: spec.flux.environment.A-B: the name is not allowed; allowed is an environment variable\'s name: letters, digits and "_"',
    ),
    "long variable": (
        f"flux: {{environment: {{? {'A' * 257} : x}}}}",
        f"6: spec.flux.environment.{'A' * 257}: the name is not allowed; allowed is a shorter name",
    ),
    "bad setting": (
        "flux: {scheduler: {settings: {a: [1]}}}",
        "6: spec.flux.scheduler.settings.a: found a list, allowed is a text, a number, true or false",
    ),
    "endless setting": (
        "flux: {scheduler: {settings: {a: .inf}}}",
        "6: spec.flux.scheduler.settings.a: found the number inf, allowed is a text, a number, true or false",
    ),
    "empty image": (
        "flux: {container: {image: ''}}",
        '6: spec.flux.container.image: found the text "", allowed is a text of 1 to 4096 characters',
    ),
    "long text": (
        f"flux: {{container: {{pythonPath: {'x' * 4097}}}}}",
        "6: spec.flux.container.pythonPath: found a text of 4097 characters, allowed is a text of at most 4096 characters",
    ),
    "architectures": (
        "flux: {arch: 'amd64, arm64'}",
        '6: spec.flux.arch: found the text "amd64, arm64", allowed is an architecture, such as "amd64", "arm64" or "x86_64"',
    ),
    "misspelt in securityContext": (
        "pod: {securityContext: {runAsUsr: 1}}",
        '6: spec.pod.securityContext.runAsUsr: unknown field; did you mean "runAsUser"?',
    ),
    "misspelt in resources": (
        "flux: {container: {resources: {limit: {cpu: 1}}}}",
        '6: spec.flux.container.resources.limit: unknown field; did you mean "limits"?',
    ),
    "missing field": (
        "pod: {imagePullSecrets: [{}]}",
        "6: spec.pod.imagePullSecrets[0].name: missing; allowed is a text",
    ),
    "given twice": ("size: 1\n  size: 2", "7: spec.size: given twice, first in line 6"),
    "list for an entry": (
        "containers: [[]]",
        "5: spec.containers[0]: found an empty list, allowed is a mapping",
    ),
    "secret": ("flux: {curveCert: [1]}", "6: spec.flux.curveCert: found a list, allowed is a text"),
    "not text": ("flux: {curveCert: 55}", "6: spec.flux.curveCert: found the number 55, allowed is a text"),
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named(body: str, message: str) -> None:
    """The whole line that a person reads."""
    runs = "" if body.startswith("containers") else RUNS
    assert messages(f"{HEAD}{runs}  {body}\n") == [f"m.yaml:{message}"]


DOCUMENTS = {
    "empty": ("# nothing", ["m.yaml:1: no document in it; a MiniCluster is needed"]),
    "a list": (
        "- a",
        ["m.yaml:1: found a list, allowed is a MiniCluster document (apiVersion, kind, metadata, spec)"],
    ),
    "a word\n": (
        "word\n",
        [
            "m.yaml:1: found a single value, allowed is a MiniCluster document (apiVersion, kind, metadata, spec)"
        ],
    ),
    "only another kind": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}",
        ["m.yaml:1: no MiniCluster in it; found ConfigMap c"],
    ),
    "no apiVersion": (
        "kind: MiniCluster\nspec: {}",
        ["m.yaml:1: apiVersion: missing; needed is apiVersion: flux-framework.org/v1alpha2"],
    ),
    "old version": (
        "apiVersion: flux-framework.org/v1alpha1\nkind: MiniCluster",
        [
            'm.yaml:1: apiVersion: found the text "flux-framework.org/v1alpha1"; needed is apiVersion: flux-framework.org/v1alpha2'
        ],
    ),
    "misspelt kind": (
        "apiVersion: flux-framework.org/v1alpha2\nkind: Minicluster",
        ['m.yaml:2: kind: found the text "Minicluster"; needed is kind: MiniCluster'],
    ),
    "other kind of ours": (
        "apiVersion: flux-framework.org/v1alpha2\nkind: MiniClusters",
        ['m.yaml:2: kind: found the text "MiniClusters"; needed is kind: MiniCluster'],
    ),
    "no metadata, no spec": (
        "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster",
        [
            "m.yaml:1: metadata: missing; allowed is a mapping",
            "m.yaml:1: spec: missing; allowed is a mapping",
        ],
    ),
    "name with a capital": (
        HEAD.replace("m}", "Mc}") + RUNS,
        [
            'm.yaml:3: metadata.name: found the text "Mc", allowed is a host name: a-z, 0-9 and "-", beginning with a letter'
        ],
    ),
    "same name twice": (
        f"{HEAD}{RUNS}---\n{HEAD}{RUNS}",
        ['m.yaml:9: metadata.name: a MiniCluster called "m" stands above'],
    ),
    "wrong in a list": (
        "apiVersion: v1\nkind: List\nitems:\n"
        + indent(f"{HEAD}{RUNS}  sise: 1", "  ").replace("  api", "- api", 1),
        ['m.yaml:9: spec.sise: unknown field; did you mean "size"?'],
    ),
}


@pytest.mark.parametrize(("text", "lines"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_that_is_none_is_named(text: str, lines: list[str]) -> None:
    """What is wrong with the document as a whole."""
    assert messages(text if "\n" in text else f"{text}\n") == lines


MALFORMED = {
    "tab": (
        "a:\n\tb: 1",
        "2: malformed YAML, column 1: found character '\\t' that cannot start any token; indent with spaces, not with tabs",
    ),
    "colon": (
        "a: b: c\n",
        "1: malformed YAML, column 5: mapping values are not allowed here; is a colon in a text without quotes, or the indentation off?",
    ),
    "indentation": (
        "a:\n  - b\n c: 1",
        "3: malformed YAML, column 2: expected <block end>, but found '<block mapping start>'; is the indentation off?",
    ),
    "open quote": ('a: "b\n', "2: malformed YAML, column 1: found unexpected end of stream"),
    "unknown anchor": ("a: *b\n", "1: malformed YAML, column 4: found undefined alias 'b'"),
    "control character": (
        "a: \x01\n",
        '1: not a text that YAML allows: unacceptable character #x0001: special characters are not allowed in "<unicode string>", position 3',
    ),
    "too deep": ("[" * 5000 + "\n", "1: not readable: nested too deeply, or too large"),
    "endless": ("a: &a [*a]\n", "1: not readable: nested too deeply, or too large"),
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_yaml_is_explained(text: str, message: str) -> None:
    """Line, column and a sentence."""
    assert messages(text)[0] == f"m.yaml:{message}"


VALUES = {
    "key that is no text": ("true: 1", "spec: the key true is not a text; write it in quotes"),
    "key that is a list": ("? [a]\n  : 1", "spec: the key is not a text; write it in quotes"),
    "tag": ("size: !mine 5", "spec.size: the tag !mine has no meaning here"),
    "wrong tag": ("size: !!int x", "spec.size: 'x' is not of the type tag:yaml.org,2002:int"),
    "NUL": ('archive: {path: "/\\0"}', "spec.archive.path: a text cannot hold the character NUL"),
    "merged list": ("<<: [a]", 'spec["<<"]: only mappings can be merged'),
}


@pytest.mark.parametrize(("body", "message"), VALUES.values(), ids=VALUES)
def test_what_no_document_can_hold_is_named(body: str, message: str) -> None:
    """YAML can say more than a Kubernetes object can hold."""
    assert f"m.yaml:6: {message}" in messages(f"{HEAD}{RUNS}  {body}\n")


def test_every_mistake_is_named_at_once_in_the_order_of_the_text() -> None:
    """Types, unknown fields and rules between fields together."""
    text = dedent(
        """\
        apiVersion: flux-framework.org/v1alpha2
        kind: MiniCluster
        metadata: {name: m}
        spec:
          size: 3
          maxSize: 2
          tasks: many
          containers:
            - comand: hostname
              launcher: true
              batch: true
        """
    )
    assert messages(text) == [
        "m.yaml:5: spec.size: size must not be greater than maxSize: found 3, maxSize is 2",
        'm.yaml:7: spec.tasks: found the text "many", allowed is a whole number from 0 to 2147483647',
        'm.yaml:9: spec.containers[0].comand: unknown field; did you mean "command"?',
        "m.yaml:11: spec.containers[0].batch: launcher and batch exclude each other",
    ]


@pytest.mark.parametrize("metadata", ["{name: bad_name}", "{}", "bad", "[bad]"])
def test_a_bad_name_hides_no_other_mistake(metadata: str) -> None:
    """A rule between other fields is named beside it."""
    text = f"""\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {metadata}
spec: {{containers: [{{launcher: true, batch: true}}]}}
"""
    first, second = messages(text)
    assert first.startswith("m.yaml:3: metadata")
    assert second == "m.yaml:4: spec.containers[0].batch: launcher and batch exclude each other"


def test_a_rule_about_a_misspelt_field_keeps_silent() -> None:
    """`runFulx` explains why no container runs Flux."""
    assert messages(f"{HEAD}  containers: [{{runFulx: true, name: a}}, {{name: b}}]\n") == [
        'm.yaml:5: spec.containers[0].runFulx: unknown field; did you mean "runFlux"?'
    ]


def test_a_rule_about_a_field_that_is_there_speaks_beside_a_misspelt_one() -> None:
    """`sise` cannot be meant for `size`, which stands beside it."""
    assert messages(f"{HEAD}{RUNS}  sise: 2\n  size: 0\n  minSize: 4\n  maxSize: 1\n") == [
        'm.yaml:6: spec.sise: unknown field; did you mean "size"?',
        "m.yaml:7: spec.size: size must be at least 1, unless suspend is true",
        "m.yaml:8: spec.minSize: minSize must not be greater than maxSize: found 4, maxSize is 1",
    ]


def test_bounds_are_compared_where_the_size_is_misspelt() -> None:
    """Which of them is greater does not depend on it."""
    assert messages(f"{HEAD}{RUNS}  sise: 2\n  minSize: 4\n  maxSize: 1\n")[1:] == [
        "m.yaml:7: spec.minSize: minSize must not be greater than maxSize: found 4, maxSize is 1"
    ]


def test_a_problem_has_its_parts() -> None:
    """Programs need not take the sentence apart."""
    with pytest.raises(DocumentError) as caught:
        load(f'{HEAD}{RUNS}  size: "5"\n', source="m.yaml")
    (problem,) = caught.value.problems
    assert (problem.path, problem.line, problem.column) == ("spec.size", 6, 3)
    assert (problem.found, problem.allowed) == ('the text "5"', "a whole number from 0 to 100000")
    assert (problem.hint, problem.source) == ("write 5 without quotes", "m.yaml")


def test_a_certificate_is_never_quoted() -> None:
    """Not even a broken one."""
    text = f"{HEAD}{RUNS}  flux: {{curveCert: {'s3cret' * 50_000}}}\n"
    found = "found a text of 300000 characters, allowed is a text of at most 262144 characters"
    assert messages(text) == [f"m.yaml:6: spec.flux.curveCert: {found}"]
