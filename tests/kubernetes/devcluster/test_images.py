"""Images are made of this machine's files; nodes' programs and networks are found. Nothing runs here."""

import json
import os
import socket
import tarfile
from pathlib import Path

import pytest

from tests.devcluster import HarnessError, MissingProgramsError, debian, image_store, network, node_programs
from tests.devcluster.images import Entry, Image, Layer, layer, prune
from tests.devcluster.libraries import moved, of_glibc
from tests.devcluster.network import Network, take_slot

TREE = {"usr/bin/one": Entry(content=b"one"), "bin": Entry(target="usr/bin"), "home": Entry(owner=1000)}


def make(folder: Path, name: str = "layer") -> Layer:
    """Make a layer."""
    return layer(folder, name, ["input"], lambda: TREE)


def test_a_layer_is_the_same_wherever_it_is_made(tmp_path: Path) -> None:
    assert make(tmp_path / "here").digest == make(tmp_path / "there").digest


def test_a_layer_holds_its_entries_and_the_folders_above_them(tmp_path: Path) -> None:
    with tarfile.open(make(tmp_path).file) as archive:
        found = {one.name: (one.type, one.uid, one.linkname) for one in archive}
    folder = (tarfile.DIRTYPE, 0, "")
    assert found == {
        "bin": (tarfile.SYMTYPE, 0, "usr/bin"),
        "home": (tarfile.DIRTYPE, 1000, ""),
        "usr": folder,
        "usr/bin": folder,
        "usr/bin/one": (tarfile.REGTYPE, 0, ""),
    }


def test_a_layer_of_the_same_inputs_is_made_once(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        layer(tmp_path, "layer", ["input"], lambda: made.append("once") or TREE)
    assert made == ["once"]


def test_a_file_that_changed_is_another_layer(tmp_path: Path) -> None:
    source = tmp_path / "source"
    layers = []
    for content in ("one", "three"):
        source.write_text(content)
        layers.append(layer(tmp_path / "cache", "layer", [source], lambda: {"file": Entry(source=source)}))
    assert layers[0] != layers[1]


def test_a_layer_that_nobody_asked_for_in_days_is_removed(tmp_path: Path) -> None:
    old, new = make(tmp_path, "old"), make(tmp_path, "new")
    os.utime(old.file.with_suffix(".digest"), (0, 0))
    prune(tmp_path)
    assert (old.file.exists(), new.file.exists()) == (False, True)


def test_a_layer_that_fails_leaves_nothing_that_passes_for_one(tmp_path: Path) -> None:
    def fails() -> dict[str, Entry]:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        layer(tmp_path, "layer", ["input"], fails)
    assert make(tmp_path).size > 0


def test_an_image_is_a_layout_that_names_its_blobs_by_their_content(tmp_path: Path) -> None:
    image = Image("localhost/one:1", [make(tmp_path)], ["/one"])
    image.write(tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as archive:
        names = set(archive.getnames())
        index = json.load(archive.extractfile("index.json"))  # type: ignore[arg-type]
    manifest = json.loads(image.manifest())
    blobs = [index["manifests"][0], manifest["config"], *manifest["layers"]]
    assert {f"blobs/{one['digest'].replace(':', '/')}" for one in blobs} <= names
    assert index["manifests"][0]["annotations"] == {"io.containerd.image.name": "localhost/one:1"}
    assert json.loads(image.config())["config"]["Cmd"] == ["/one"]


def test_images_are_unpacked_once_though_one_cluster_has_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_store, "folder", lambda: tmp_path)
    monkeypatch.setattr(image_store, "take", lambda work, *_: (work / "root").mkdir(exist_ok=True))
    (tmp_path / "layers").mkdir()
    one, two = (Image(f"localhost/{name}:1", [make(tmp_path, name)]) for name in ("one", "two"))
    program = {"containerd": tmp_path / "containerd"}
    found = []
    for images in ([one], [one, two], [two], [two, one], [Image("localhost/two:1", two.layers, ["/other"])]):
        store, lock_file = image_store.store(images, program)
        lock_file.close()
        found.append(store)
    assert found[1] == found[2] == found[3]
    assert len({found[0], found[1], found[4]}) == 3


@pytest.mark.parametrize(
    ("instead", "written"),
    [("$ORIGIN/../lib", True), ("/a/place/with/a/name/that/is/longer/than/the/old/one", False)],
)
def test_a_program_gets_a_search_path_if_there_is_room_for_it(
    tmp_path: Path, instead: str, *, written: bool
) -> None:
    old = b"\0/opt/python/3.99.1/lib\0"
    program = tmp_path / "program"
    program.write_bytes(b"before" + old + b"after")
    changed = moved(program, "/opt/python/3.99.1/lib", instead)
    assert (changed is not None) is written
    if changed is not None:
        assert changed.content == b"before" + f"\0{instead}\0".encode().ljust(len(old), b"\0") + b"after"


@pytest.mark.parametrize(
    ("name", "belongs"),
    [("libc.so.6", True), ("ld-linux-x86-64.so.2", True), ("libm.so.6", True), ("libcrypto.so.3", False)],
)
def test_the_c_library_is_distinguished_from_others(name: str, *, belongs: bool) -> None:
    assert of_glibc(name) is belongs


def test_nodes_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MissingProgramsError, match="nodes need root on Linux"):
        node_programs.require({})


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Pretend that this is root's machine with none of the programs; the folder is all of PATH."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(node_programs, "PLUGIN_FOLDERS", (tmp_path / "cni",))
    monkeypatch.setattr(network, "FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


MISSING = "containernetworking-plugins, iproute2, mount, nftables, runc, util-linux"


def test_missing_programs_are_named_by_their_packages(bare: Path) -> None:
    with pytest.raises(MissingProgramsError, match=f"nodes need programs of the packages {MISSING}"):
        node_programs.require({})


INSTALLS = """#!/bin/sh
echo "$@" >>{folder}/asked
[ "$1" = install ] || exit 0
for name in runc nft ip nsenter unshare mount; do : >{folder}/$name; /bin/chmod +x {folder}/$name; done
/bin/mkdir -p {folder}/cni
for name in bridge host-local portmap; do : >{folder}/cni/$name; done
"""


def apt(folder: Path, script: str) -> None:
    """Put a program apt-get into a folder."""
    (folder / "apt-get").write_text(script)
    (folder / "apt-get").chmod(0o755)


def test_under_ci_they_are_installed(bare: Path) -> None:
    apt(bare, INSTALLS.format(folder=bare))
    assert (
        node_programs.require({"CI": "true", "PATH": str(bare), "XDG_CACHE_HOME": str(bare)}) == bare / "cni"
    )
    asked = (bare / "asked").read_text().splitlines()
    options = "--yes --no-install-recommends -o DPkg::Lock::Timeout=300"
    assert asked == ["update", f"install {options} {MISSING.replace(',', '')}"]


def test_under_ci_they_are_installed_though_the_lists_cannot_be_had(bare: Path) -> None:
    """Somebody else may be at them just now, and those that are here may do."""
    apt(bare, INSTALLS.format(folder=bare).replace("exit 0", "exit 100"))
    environ = {"CI": "true", "PATH": str(bare), "XDG_CACHE_HOME": str(bare)}
    assert node_programs.require(environ) == bare / "cni"


def test_under_ci_what_apt_prints_is_quoted(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    apt(bare, "#!/bin/sh\necho E: no network >&2; exit 100\n")
    with pytest.raises(MissingProgramsError, match="nodes need programs of the packages"):
        node_programs.require({"CI": "true", "PATH": str(bare), "XDG_CACHE_HOME": str(bare)})
    assert "`apt-get update` failed: E: no network" in capsys.readouterr().err


def test_elsewhere_nothing_is_installed(bare: Path) -> None:
    apt(bare, INSTALLS.format(folder=bare))
    with pytest.raises(MissingProgramsError):
        node_programs.require({"PATH": str(bare)})
    assert not (bare / "asked").exists()


DOWNLOADS = """#!/bin/sh
echo "$@" >>{folder}/asked
[ "$1" = update ] || : >package.deb
"""
UNPACKS = """#!/bin/sh
/bin/mkdir -p "$3/usr/bin"
: >"$3/usr/bin/tool"
"""


def test_under_ci_a_program_is_unpacked_from_its_package_once(bare: Path) -> None:
    """It is not installed; one on PATH is preferred."""
    apt(bare, DOWNLOADS.format(folder=bare))
    (bare / "dpkg-deb").write_text(UNPACKS)
    (bare / "dpkg-deb").chmod(0o755)
    environ = {"CI": "true", "PATH": str(bare), "XDG_CACHE_HOME": str(bare / "cache")}
    found = {debian.unpacked("tool", "tools", environ) for _ in range(2)}
    assert found == {bare / "cache" / "minicluster" / "programs" / "debian-tools" / "usr" / "bin" / "tool"}
    assert (bare / "asked").read_text().splitlines() == ["update", "download tools"]
    (bare / "tool").write_text("")
    (bare / "tool").chmod(0o755)
    assert debian.unpacked("tool", "tools", environ) == bare / "tool"


@pytest.mark.parametrize("folder", ["bin", "usr/bin"])
def test_packages_that_a_program_needs_are_unpacked_beside_it(bare: Path, folder: str) -> None:
    """The program is in either folder: in some packages the former is no link to the latter."""
    apt(bare, DOWNLOADS.format(folder=bare).replace(">package.deb", ">tools.deb >parts.deb"))
    (bare / "dpkg-deb").write_text(
        f'#!/bin/sh\n/bin/mkdir -p "$3/{folder}" "$3/all"\n: >"$3/{folder}/tool"; : >"$3/all/${{2##*/}}"\n'
    )
    (bare / "dpkg-deb").chmod(0o755)
    environ = {"CI": "true", "PATH": str(bare), "XDG_CACHE_HOME": str(bare / "cache")}
    cached = bare / "cache" / "minicluster" / "programs" / "debian-tools"
    assert debian.unpacked("tool", "tools", environ, needs=["parts"]) == cached / folder / "tool"
    assert (bare / "asked").read_text().splitlines() == ["update", "download tools parts"]
    assert sorted(path.name for path in (cached / "all").iterdir()) == ["parts.deb", "tools.deb"]


def test_elsewhere_no_package_is_fetched(bare: Path) -> None:
    apt(bare, DOWNLOADS.format(folder=bare))
    with pytest.raises(MissingProgramsError, match=r"^there is no tool on PATH \(package tools\)$"):
        debian.unpacked("tool", "tools", {"PATH": str(bare), "XDG_CACHE_HOME": str(bare)})
    assert not (bare / "asked").exists()


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a machine without routes."""
    monkeypatch.setattr(network, "routes", list)


def test_a_slot_is_taken_by_one_at_a_time(free: None) -> None:
    first, lock = take_slot()
    second, other = take_slot()
    with lock, other:
        assert first != second
        assert first.pods != second.pods


def test_a_network_that_this_machine_uses_is_passed_over(monkeypatch: pytest.MonkeyPatch, free: None) -> None:
    first, lock = take_slot()
    lock.close()
    used = [("eth0", network.parse(first.pods_of(3)))]
    monkeypatch.setattr(network, "routes", lambda: used)
    second, lock = take_slot()
    lock.close()
    assert second != first


def test_the_routes_of_a_cluster_that_just_ended_do_not_count(
    monkeypatch: pytest.MonkeyPatch, free: None
) -> None:
    """The kernel removes them some time later."""
    first, lock = take_slot()
    lock.close()
    monkeypatch.setattr(network, "routes", lambda: [(first.interface, network.parse(first.pods))])
    second, lock = take_slot()
    lock.close()
    assert second == first


def test_when_all_networks_are_in_use_that_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "routes", lambda: [("eth0", network.parse("10.0.0.0/8"))])
    with pytest.raises(HarnessError, match=r"all of 100 networks from 10\.100\.0\.0/16 on are in use"):
        take_slot()


def test_addresses_of_nodes_and_their_pods_are_apart() -> None:
    found = Network(3)
    assert (found.host, found.node(1), found.pods_of(1)) == ("10.103.0.1", "10.103.0.11", "10.103.1.0/24")
    assert network.NUMBERS.stop + 10 < 256


def test_a_socket_without_a_file_is_the_lock(free: None) -> None:
    """So a lock cannot outlive the guardian that holds it."""
    found, lock = take_slot()
    with lock, socket.socket(socket.AF_UNIX) as other, pytest.raises(OSError, match="in use"):
        other.bind(f"\0minicluster-test-network-{found.slot}")
