"""Where the control plane's programs come from, with fake programs and a fake Go."""

import threading
from pathlib import Path

import pytest

from tests.devcluster import MissingProgramsError, __main__, building
from tests.devcluster.lookup import ETCD, KWOK, PAUSE, SOURCES, kubernetes, locate
from tests.devcluster.reporting import unavailable

KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
# `go env GOVERSION`, and `go build … -o` with `FILE .`, `FOLDER/ ./...` or `FOLDER/ tool`; each build leaves
# a line in the file $BUILDS.
GO = """
case $1 in
env) echo "${GOVERSION-go1.99}" ;;
build)
  echo built >> "$BUILDS"
  [ -z "$FAILS" ] || { echo "$FAILS" >&2; exit 1; }
  /bin/sleep 0.2
  while [ "$1" != -o ]; do shift; done
  case $2$3 in
  */tool) for tool in one two; do echo "tool $tool" > "$2$tool"; done ;;
  */./...) for folder in */; do echo "$folder" > "$2${folder%/}"; done ;;
  *) echo program > "$2" ;;
  esac ;;
esac
"""


class Machine:
    """Folders with programs, and the environment that leads to them."""

    def __init__(self, folder: Path) -> None:
        self.assets, self.path = folder / "assets", folder / "path"
        self.builds = folder / "builds"
        self.environ = {
            "KUBEBUILDER_ASSETS": str(self.assets),
            "PATH": str(self.path),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "BUILDS": str(self.builds),
        }
        self.sources = folder / "thing"
        self.sources.mkdir()
        (self.sources / "go.mod").write_text("module thing\n")

    def install(self, folder: Path, *names: str, script: str = "exit 0") -> None:
        """Put programs into a folder."""
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)

    def build(self) -> dict[str, Path]:
        """Have the sources built."""
        return building.build(self.sources, ("one", "two"), self.environ)

    def count(self) -> int:
        """Say how often Go was asked to build."""
        return len(self.builds.read_text().splitlines()) if self.builds.exists() else 0


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without any program."""
    return Machine(tmp_path)


def test_the_assets_come_first(machine: Machine) -> None:
    machine.install(machine.assets, "etcd")
    machine.install(machine.path, "etcd", "go", script=GO)
    assert locate(ETCD, machine.environ) == {"etcd": machine.assets / "etcd"}


def test_then_path(machine: Machine) -> None:
    machine.install(machine.path, "etcd", "go", script=GO)
    assert locate(ETCD, machine.environ) == {"etcd": machine.path / "etcd"}


def test_then_go_builds_them(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    found = locate(KWOK, machine.environ)
    assert found["kwok"].read_text() == "program\n"
    assert found["kwok"].is_relative_to(machine.environ["XDG_CACHE_HOME"])


def test_programs_that_belong_together_are_not_mixed(machine: Machine) -> None:
    """The assets of envtest have an API server and no controller-manager: PATH has both."""
    machine.install(machine.assets, "kube-apiserver")
    machine.install(machine.path, *KUBERNETES)
    assert {path.parent for path in locate(kubernetes(), machine.environ).values()} == {machine.path}


def test_programs_without_a_kubelet_do_where_there_are_no_nodes(machine: Machine) -> None:
    machine.install(machine.assets, *KUBERNETES)
    assert set(locate(kubernetes(), machine.environ)) == set(KUBERNETES)


def test_what_must_be_ours_is_built_even_if_there_is_one(machine: Machine) -> None:
    machine.install(machine.path, "pause")
    with pytest.raises(MissingProgramsError, match=r"^pause: there is no go on PATH to build them with$"):
        locate(PAUSE, machine.environ)


def test_nodes_need_a_kubelet_from_the_same_directory(machine: Machine) -> None:
    machine.install(machine.assets, *KUBERNETES)
    machine.install(machine.path, *KUBERNETES, "kubelet", "kube-proxy")
    found = locate(kubernetes(nodes=True), machine.environ)
    assert {path.parent for path in found.values()} == {machine.path}


@pytest.mark.parametrize(("wanted", "taken"), [("1.31", True), ("1.36", False), (None, True)])
def test_a_wanted_version_is_asked_of_what_is_found(
    machine: Machine, wanted: str | None, taken: bool
) -> None:
    machine.install(machine.assets, *KUBERNETES, script="echo Kubernetes v1.31.4")
    machine.install(machine.path, "go", script=GO)
    found = locate(kubernetes(wanted), machine.environ)
    assert (found["kube-apiserver"].parent == machine.assets) is taken


def test_the_reason_names_every_directory(machine: Machine) -> None:
    machine.install(machine.assets, "kube-apiserver")
    with pytest.raises(MissingProgramsError) as missing:
        locate(kubernetes(), machine.environ)
    assert str(missing.value) == (
        "kubernetes-1.36: $KUBEBUILDER_ASSETS has no kube-controller-manager, kube-scheduler; "
        "PATH has no kube-apiserver, kube-controller-manager, kube-scheduler; "
        "there is no go on PATH to build them with"
    )


def test_the_reason_reports_when_no_assets_are_named(machine: Machine) -> None:
    del machine.environ["KUBEBUILDER_ASSETS"]
    with pytest.raises(MissingProgramsError, match=r"\$KUBEBUILDER_ASSETS is not set; PATH has no etcd"):
        locate(ETCD, machine.environ)


def test_a_version_that_nobody_pinned_is_named(machine: Machine) -> None:
    with pytest.raises(MissingProgramsError, match=r"there is no .*kubernetes-1\.7 to build it from"):
        locate(kubernetes("1.7"), machine.environ)


def test_what_go_complains_about_is_quoted_and_nothing_stays(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    machine.environ["FAILS"] = "proxy: no route to host"
    with pytest.raises(MissingProgramsError, match=r"`go build` of .*thing failed: proxy: no route to host"):
        machine.build()
    assert [path.suffix for path in building.cache_folder(machine.environ).iterdir()] == [".lock"]


def test_while_go_loads_another_go_it_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(building, "NEWS_SECONDS", 0.01)
    machine.install(machine.path, "go", script=f"/bin/sleep 0.2\n{GO}")
    machine.build()
    assert "which may be loading the version that thing needs" in capfd.readouterr().err


def test_elsewhere_a_test_is_skipped_with_the_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match="no Kubernetes control plane here: no etcd"):
        unavailable("no etcd", {})


def test_under_ci_it_fails_with_the_reason() -> None:
    with pytest.raises(pytest.fail.Exception, match="CI=true, where this may not be skipped: no etcd"):
        unavailable("no etcd", {"CI": "true"})


def test_one_binary_goes_by_all_its_names(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    found = machine.build()
    assert {name: path.resolve().name for name, path in found.items()} == {"one": "thing", "two": "thing"}


def test_a_module_with_folders_is_a_program_each(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    for name in ("one", "two"):
        (machine.sources / name).mkdir()
    programs = {name: path.read_text() for name, path in machine.build().items()}
    assert programs == {"one": "one/\n", "two": "two/\n"}


def test_the_tools_of_a_module_are_a_program_each(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    with (machine.sources / "go.mod").open("a") as module:
        module.write("tool (\n\texample.org/one\n\texample.org/two\n)\n")
    programs = {name: path.read_text() for name, path in machine.build().items()}
    assert programs == {"one": "tool one\n", "two": "tool two\n"}


def test_a_change_in_a_folder_is_another_build(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    for name in ("one", "two"):
        (machine.sources / name).mkdir()
    before = machine.build()
    (machine.sources / "one" / "main.go").write_text("package main\n")
    assert machine.build() != before


def test_a_second_build_is_none(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    assert machine.build() == machine.build()
    assert machine.count() == 1


def test_two_at_once_build_once(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    machine.install(machine.path, "go", script=GO)
    threads = [threading.Thread(target=machine.build) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert machine.count() == 1
    assert capfd.readouterr().err.count("waiting for another process that builds thing") == 2


@pytest.mark.parametrize("change", ["source", "go"])
def test_a_change_is_another_build(machine: Machine, change: str) -> None:
    machine.install(machine.path, "go", script=GO)
    before = machine.build()
    if change == "source":
        (machine.sources / "main.go").write_text("package main\n")
    else:
        machine.environ["GOVERSION"] = "go1.100"
    assert machine.build() != before


def test_what_an_interrupted_build_left_is_removed(machine: Machine) -> None:
    machine.install(machine.path, "go", script=GO)
    target = machine.build()["one"].parent
    target.rename(target.with_name(f"{target.name}.build-killed"))
    machine.build()
    assert [path.name for path in target.parent.iterdir() if "build-" in path.name] == []


@pytest.mark.parametrize("sources", sorted(SOURCES.iterdir()), ids=lambda path: path.name)
def test_sources_are_pinned_and_name_no_download_address(sources: Path) -> None:
    files = [path for path in sources.rglob("*") if path.is_file()]
    assert {path.name for path in files} - {"main.go"} == {"go.mod", "go.sum"}
    assert "://" not in "".join(path.read_text() for path in files)


@pytest.mark.parametrize(
    ("sources", "stamp"),
    [("kubernetes-1.36", "gitVersion=v1.36.3 "), ("kubernetes-1.31", "gitMinor=31 "), ("etcd", None)],
)
def test_kubernetes_gets_its_version_from_the_module(sources: str, stamp: str | None) -> None:
    flags = building.linking(SOURCES / sources) + " "
    assert stamp in flags if stamp else "-X" not in flags


def test_the_cache_is_in_the_home_by_default() -> None:
    assert building.cache_folder({"HOME": "/home/jane"}) == Path("/home/jane/.cache/minicluster/programs")


def test_a_cluster_with_the_chart_names_its_helm_beside_the_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output is for `eval`; here the cluster runs already."""
    (tmp_path / "ready").touch()
    monkeypatch.setattr(__main__.state, "find", lambda _: tmp_path)
    monkeypatch.setattr(__main__, "locate", lambda suite: {suite.name: Path("/built/helm")})
    assert __main__.main(["up", "--nodes", "1", "--install"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"export KUBECONFIG={tmp_path}/kubeconfig\n"
    assert "helm, for the release minicluster-system/minicluster-operator: /built/helm\n" in printed.err
