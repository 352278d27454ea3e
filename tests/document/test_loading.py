"""Where documents come from, and which kinds of text are understood."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from minicluster.document import DocumentError, Problem, load, read, validate

DOCUMENT = {
    "apiVersion": "flux-framework.org/v1alpha2",
    "kind": "MiniCluster",
    "metadata": {"name": "m"},
    "spec": {"containers": [{"command": "echo \U0001f600 é"}], "size": 2},
}
HEAD = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: m}\n"
(MINIMAL,) = load(json.dumps(DOCUMENT))


def test_json_is_understood_with_its_escapes() -> None:
    """JSON writes what is outside the basic plane as two halves."""
    assert MINIMAL.spec.containers[0].command == "echo \U0001f600 é"


def test_json_may_be_indented_with_tabs() -> None:
    """YAML alone forbids it."""
    assert load(json.dumps(DOCUMENT, indent="\t", ensure_ascii=False)) == [MINIMAL]


def test_what_only_resembles_json_keeps_its_tabs() -> None:
    """A tab inside a text is content."""
    text = f"{{apiVersion: {DOCUMENT['apiVersion']}, kind: MiniCluster, metadata: {{name: m}},\n"
    (cluster,) = load(text + 'spec: {containers: [{command: "a\tb"}]}}')
    assert cluster.spec.containers[0].command == "a\tb"


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    """By Path, or by a word on one line; a byte-order mark does no harm."""
    path = tmp_path / "m.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(DOCUMENT).encode())
    assert load(path) == load(str(path)) == [MINIMAL]


def test_a_problem_in_a_file_names_the_file(tmp_path: Path) -> None:
    """The name as it was given."""
    path = tmp_path / "m.yaml"
    path.write_text("a: b: c")
    with pytest.raises(DocumentError, match=r"^.*/m\.yaml:1: malformed YAML, column 5: "):
        load(path)


def test_a_missing_file_is_an_oserror(tmp_path: Path) -> None:
    """Its message names the file already."""
    with pytest.raises(FileNotFoundError, match=r"none\.yaml"):
        load(str(tmp_path / "none.yaml"))


def test_bytes_that_are_no_utf8_are_placed(tmp_path: Path) -> None:
    """Line and byte."""
    path = tmp_path / "m.yaml"
    path.write_bytes(b"a: 1\nb: \xe4\n")
    with pytest.raises(DocumentError, match=r"m\.yaml:2: not UTF-8: byte 0xe4"):
        load(path)


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(DOCUMENT).encode())))
    assert load("-") == [MINIMAL]


def test_standard_input_has_a_name_in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no file to name."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"[]")))
    with pytest.raises(DocumentError, match=r"^standard input:1: found a list"):
        load("-")


def test_an_empty_text_is_no_path() -> None:
    """It is a document without content."""
    with pytest.raises(DocumentError, match="no document in it"):
        load("")


def test_several_documents_keep_their_order() -> None:
    """Empty ones do not count."""
    second = HEAD.replace("{name: m}", "{name: n}")
    clusters = load(
        f"---\n{HEAD}spec: {{containers: [{{}}]}}\n---\n---\n{second}spec: {{containers: [{{}}]}}\n"
    )
    assert [cluster.metadata.name for cluster in clusters] == ["m", "n"]


def test_one_name_may_stand_in_two_namespaces() -> None:
    elsewhere = {**DOCUMENT, "metadata": {"name": "m", "namespace": "b"}}
    clusters = load(f"{json.dumps(DOCUMENT)}\n---\n{json.dumps(elsewhere)}")
    assert [cluster.metadata.namespace for cluster in clusters] == ["", "b"]


def test_other_kinds_are_skipped_and_named() -> None:
    """What stands beside is for somebody else."""
    found = read(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n"
        "apiVersion: v1\nkind: Unnamed\nmetadata: []\n---\n" + json.dumps(DOCUMENT),
        source="m.yaml",
    )
    assert found.clusters == (MINIMAL,)
    assert [str(other) for other in found.skipped] == [
        "m.yaml:1: skipped ConfigMap c",
        "m.yaml:5: skipped Unnamed",
    ]


def test_skipped_documents_of_a_text_have_a_line() -> None:
    """Without a name for the text."""
    (other,) = read("kind: Job\napiVersion: batch/v1\n---\n" + json.dumps(DOCUMENT)).skipped
    assert str(other) == "line 1: skipped Job"


@pytest.mark.parametrize("kind", ["MiniClusterList", "List"])
def test_lists_are_taken_apart(kind: str) -> None:
    """As `kubectl get -o yaml` writes them."""
    content = {"apiVersion": "v1", "kind": kind, "items": [DOCUMENT, {"apiVersion": "v1", "kind": "Pod"}]}
    found = read(json.dumps(content))
    assert (found.clusters, found.skipped[0].kind) == ((MINIMAL,), "Pod")


def test_anchors_and_merges_are_followed() -> None:
    """What is written beside `<<` wins, then the first of several."""
    (cluster,) = load(
        f"{HEAD}spec:\n  containers:\n"
        "  - &first {name: a, runFlux: true, image: x, ports: &ports [1]}\n"
        "  - &second {name: b, image: y, command: z}\n"
        "  - {<<: [*second, *first], name: c, runFlux: false, ports: *ports}\n"
    )
    last = cluster.spec.containers[2]
    assert (last.name, last.image, last.command, last.ports) == ("c", "y", "z", (1,))


SCALARS = {
    "time": ("12:30:45", "12:30:45"),
    "date": ("2024-01-02", "2024-01-02"),
    "version": ("1.2.3", "1.2.3"),
    "equals": ("=", "="),
    "word": ("y", "y"),
}


@pytest.mark.parametrize(("written", "value"), SCALARS.values(), ids=SCALARS)
def test_a_plain_word_is_a_text_where_kubernetes_has_one(written: str, value: str) -> None:
    """No dates, no numbers to base 60."""
    (cluster,) = load(f"{HEAD}spec: {{containers: [{{command: {written}}}]}}\n")
    assert cluster.spec.containers[0].command == value


NUMBERS = {"017": 15, "0o17": 15, "0x1F": 31, "1_000": 1000, "+5": 5, "0b11": 3, "0": 0}


@pytest.mark.parametrize(("written", "value"), NUMBERS.items(), ids=NUMBERS)
def test_whole_numbers_may_be_written_in_many_ways(written: str, value: int) -> None:
    """As YAML 1.1 has them."""
    (cluster,) = load(f"{HEAD}spec: {{tasks: {written}, containers: [{{}}]}}\n")
    assert cluster.spec.tasks == value


FRACTIONS = {"1e3": 1000.0, ".5": 0.5, "-2.": -2.0, "1.5E-1": 0.15}


@pytest.mark.parametrize(("written", "value"), FRACTIONS.items(), ids=FRACTIONS)
def test_fractions_may_be_written_in_many_ways(written: str, value: float) -> None:
    """JSON's exponents included."""
    (cluster,) = load(
        f"{HEAD}spec: {{containers: [{{}}], flux: {{scheduler: {{settings: {{a: {written}}}}}}}}}\n"
    )
    assert cluster.spec.flux.scheduler.settings == {"a": value}


def test_keys_may_be_numbers() -> None:
    """Kubernetes takes them as they are written."""
    (cluster,) = load(f"{HEAD}spec: {{containers: [{{}}], pod: {{labels: {{010: a}}}}}}\n")
    assert cluster.spec.pod.labels == {"010": "a"}


def test_an_object_of_a_server_is_validated_without_a_text() -> None:
    """Its metadata is the server's."""
    metadata = {
        "name": "m",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2024-05-01T12:00:00Z",
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        "ownerReferences": [{"kind": "Workflow", "name": "w", "uid": "x", "apiVersion": "a/v1"}],
        "finalizers": ["example.org/save"],
    }
    status = {
        "size": 2,
        "selector": "hpa-selector=m",
        "maximumSize": 2,
        "conditions": [{"type": "Running", "status": "True", "lastTransitionTime": "2024-05-01T12:00:00Z"}],
        "lastDump": {"path": "/d", "time": "2024-05-01T12:00:00.5+02:00"},
    }
    cluster = validate({**DOCUMENT, "metadata": metadata, "status": status})
    assert (cluster.metadata.generation, cluster.status.conditions[0].type) == (2, "Running")


def test_problems_of_a_servers_object_have_no_lines() -> None:
    """There is no text to point into."""
    with pytest.raises(DocumentError) as caught:
        validate({**DOCUMENT, "spec": {"containers": [{}], "size": 0}}, source="default/m")
    assert str(caught.value) == "default/m: spec.size: size must be at least 1, unless suspend is true"


def test_a_problem_without_any_position_is_its_message() -> None:
    """Nothing to point at."""
    assert str(Problem("", "nothing works")) == "nothing works"


def test_an_endless_document_of_aliases_is_refused() -> None:
    """A short text must not fill the memory."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(DocumentError, match="too large"):
        load("\n".join(lines))


def test_a_mapping_merged_into_itself_is_refused() -> None:
    """It has no end."""
    with pytest.raises(DocumentError, match="only mappings can be merged"):
        load(f"{HEAD}spec: &s\n  containers: [{{}}]\n  <<: *s\n")


def test_settings_keep_their_kinds() -> None:
    """They go into TOML."""
    (cluster,) = load(
        f"{HEAD}spec: {{containers: [{{}}], flux: {{scheduler: {{settings: {{a: 1, b: true, c: x}}}}}}}}\n"
    )
    assert cluster.spec.flux.scheduler.settings == {"a": 1, "b": True, "c": "x"}
