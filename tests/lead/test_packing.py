"""What real Flux gets: small, always the same, and able to run where nothing else of ours is."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster import flux_zips
from minicluster.flux_zips import rooms
from minicluster.lead_server import extensions
from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
OURS = {"minicluster", "broker_config", "metrics_api"}
MAX_ZIP = 300_000
"""Bytes; a ConfigMap holds 1 MiB of base64."""
ZIPS = [
    pytest.param(rooms.LEAD, flux_zips.pack, id="lead"),
    pytest.param(rooms.SCHEDULER, flux_zips.pack_scheduler, id="scheduler"),
]


@pytest.mark.parametrize(("zipped", "pack"), ZIPS)
def test_every_room_is_shipped_whole(zipped: rooms.Zip, pack: Callable[[], bytes]) -> None:
    """All modules of a package, and none of the packages in it."""
    shipped = set(zipfile.ZipFile(io.BytesIO(pack())).namelist())
    for room in zipped.rooms:
        folder = ROOT / room.replace(".", "/")
        modules = {path.relative_to(ROOT).as_posix() for path in folder.glob("*.py")}
        assert modules <= shipped
        assert modules or folder.with_suffix(".py").is_file(), room


@pytest.mark.parametrize(("zipped", "pack"), ZIPS)
def test_every_file_runs_on_the_oldest_python(
    zipped: rooms.Zip, pack: Callable[[], bytes], tmp_path: Path
) -> None:
    """By syntax and by what it calls of the standard library."""
    zipfile.ZipFile(io.BytesIO(pack())).extractall(tmp_path)
    floor = ".".join(map(str, zipped.floor))
    words = ("--violations", "--quiet", "--no-tips", f"--target={floor}-")
    program = "import sys, vermin; sys.exit(vermin.main())"
    found = subprocess.run(
        [sys.executable, "-c", program, *words, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout.strip(), found.stderr.strip()) == (0, "", "")


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        pytest.param("'a'.removeprefix('b')", "'str.removeprefix' member requires !2, 3.9", id="method"),
        pytest.param("import tomllib", "'tomllib' module requires !2, 3.11", id="module"),
        pytest.param("zip((), (), strict=True)", "'zip(strict)' requires !2, 3.10", id="argument"),
    ],
)
def test_a_call_that_is_too_new_is_found(source: str, wrong: str, tmp_path: Path) -> None:
    """The tool knows more than the syntax."""
    (tmp_path / "new.py").write_text(f"{source}\n")
    program = "import sys, vermin; sys.exit(vermin.main())"
    words = ("--violations", "--quiet", "--no-tips", "--target=3.8-", str(tmp_path))
    found = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (found.returncode, wrong in found.stdout) == (1, True)


def every_name() -> list[str]:
    return zipfile.ZipFile(io.BytesIO(flux_zips.pack())).namelist()


def names() -> list[str]:
    """The sources: the other files are made for the zip."""
    made = {flux_zips.EXTENSIONS, *(f"{name.replace('.', '/')}.py" for name in rooms.LEAD.former)}
    return [name for name in every_name() if name not in made]


def test_zip_names_what_others_serve() -> None:
    """It has no entry points."""
    with zipfile.ZipFile(io.BytesIO(flux_zips.pack())) as archive:
        assert archive.read(flux_zips.EXTENSIONS).decode().split() == extensions.named()


def test_zip_is_small() -> None:
    """A ConfigMap holds 1 MiB, and there is one a MiniCluster."""
    assert len(flux_zips.pack()) < MAX_ZIP


def test_zip_is_always_the_same() -> None:
    """Else every start of the operator would renew every ConfigMap."""
    program = (
        "import hashlib; from minicluster import flux_zips as packing\n"
        "print(hashlib.sha256(packing.pack()).hexdigest())"
    )
    sums = {subprocess.check_output([sys.executable, "-c", program], cwd=ROOT) for _ in range(2)}
    assert len(sums) == 1


def test_zip_holds_the_sources(tmp_path: Path) -> None:
    """Unchanged, under their own names."""
    with zipfile.ZipFile(io.BytesIO(flux_zips.pack())) as archive:
        assert all(archive.read(name) == (ROOT / name).read_bytes() for name in names())


@pytest.mark.parametrize("name", names())
def test_packed_file_is_plain_python(name: str) -> None:
    """Flux's own Python may be as old as 3.8."""
    ast.parse((ROOT / name).read_text(), name, feature_version=(3, 8))


@pytest.mark.parametrize("name", ["minicluster-door.py", flux_zips.BURST_FILE])
def test_stub_is_plain_python(name: str) -> None:
    """It comes before the zip."""
    files = {**flux_zips.module_files(), **flux_zips.burst_files()}
    ast.parse(files[name], feature_version=(3, 8))


def _imported(name: str) -> set[str]:
    """The modules that a file imports when it runs."""
    tree = ast.parse((ROOT / name).read_text())
    typing = [
        node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    skipped = {id(each) for node in typing for each in ast.walk(node)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("name", names())
def test_packed_file_imports_what_is_there(name: str) -> None:
    """The standard library, flux, and other packed files."""
    packed = {each.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for each in names()}
    ours = {each for each in _imported(name) if each.partition(".")[0] in OURS}
    others = {each.partition(".")[0] for each in _imported(name) - ours}
    assert others <= sys.stdlib_module_names | {"flux"}
    assert {each for each in ours if (ROOT / f"{each.replace('.', '/')}.py").exists()} <= packed


def test_everything_but_flux_imports_from_the_zip_alone(tmp_path: Path) -> None:
    """In a Python that has no other path."""
    (tmp_path / flux_zips.ZIP).write_bytes(flux_zips.pack())
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / flux_zips.ZIP)!r})\n"
        "import minicluster.lead_server.lead_server as door\n"
        "print(door.__file__)"
    )
    shown = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True)
    assert shown.startswith(str(tmp_path / flux_zips.ZIP))


def test_texts_are_what_the_start_script_links() -> None:
    """By these names."""
    template = (ROOT / "broker_config/templates/start/modules.sh.j2").read_text()
    assert all(f"{name}" in template for name in (*flux_zips.module_files(), flux_zips.ZIP))


@pytest.fixture
def packed() -> zipfile.ZipFile:
    """The scheduler's zip."""
    return zipfile.ZipFile(io.BytesIO(flux_zips.pack_scheduler()))


class TestScheduler:
    """What a lead gets that is to have one of our queue policies."""

    def test_zip_is_small(self) -> None:
        """A ConfigMap holds 1 MiB, and it is there besides the other zip."""
        assert len(flux_zips.pack_scheduler()) < MAX_ZIP

    def test_every_policy_is_there(self, packed: zipfile.ZipFile) -> None:
        sources = {path.name for path in (ROOT / "queue_policies").glob("*.py")}
        assert {f"queue_policies/{name}" for name in sources} <= set(packed.namelist())

    def test_the_simulator_is_not(self, packed: zipfile.ZipFile) -> None:
        assert not [name for name in packed.namelist() if "simulator" in name]

    def test_files_are_plain_python(self, packed: zipfile.ZipFile) -> None:
        """The scheduler says that it needs 3.10."""
        for name in packed.namelist():
            ast.parse(packed.read(name), name, feature_version=(3, 10))

    def test_files_import_what_is_there(self, packed: zipfile.ZipFile) -> None:
        """The standard library, flux, pluggy, and other packed files."""
        names = [str(path.relative_to(ROOT)) for path in flux_zips.scheduler_paths()]
        names.remove("minicluster/__init__.py")  # it imports what is for programs in jobs, when they ask
        there = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names}
        ours = ("minicluster.", "broker_config", "queue_policies", "metrics_api")
        for name in names:
            imported = _imported(name)
            mine = {each for each in imported if each.startswith(ours)}
            others = {each.partition(".")[0] for each in imported - mine}
            assert others - {"minicluster"} <= sys.stdlib_module_names | {"flux", "pluggy"}, name
            assert {each for each in mine if (ROOT / f"{each.replace('.', '/')}.py").exists()} <= there, name

    def test_policies_load_from_the_zip_alone(self, tmp_path: Path) -> None:
        """In a Python that has no other path."""
        (tmp_path / flux_zips.SCHEDULER_ZIP).write_bytes(flux_zips.pack_scheduler())
        program = (
            f"import sys; sys.path.insert(0, {str(tmp_path / flux_zips.SCHEDULER_ZIP)!r})\n"
            "from queue_policies.plugins import load, policies\n"
            "import minicluster.flux_scheduler.replies as answers\n"
            "print(*(load(name).name for name in policies()), answers.__file__)"
        )
        shown = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True).split()
        assert {"easy", "priority-elastic", "water-filling"} < set(shown)
        assert shown[-1].startswith(str(tmp_path / flux_zips.SCHEDULER_ZIP))

    def test_a_plugin_that_does_not_load_is_passed_over_there(self, tmp_path: Path) -> None:
        """As the scheduler of real Flux loads its policy."""
        (tmp_path / flux_zips.SCHEDULER_ZIP).write_bytes(flux_zips.pack_scheduler())
        install_plugin(tmp_path, "sjf", "my_sjf", "import no_such_module")
        program = (
            f"import sys; sys.path[:0] = {[str(tmp_path / flux_zips.SCHEDULER_ZIP), str(tmp_path)]!r}\n"
            "from queue_policies.plugins import load\n"
            "print(load('easy', {}, print).name)"
        )
        warning, name = subprocess.check_output(
            [sys.executable, "-I", "-S", "-c", program], text=True
        ).splitlines()
        assert warning == (
            "policy plug-in sjf (my_sjf) does not load: ModuleNotFoundError: No module named"
            " 'no_such_module'; it is passed over"
        )
        assert name == "easy"

    def test_texts_are_what_the_start_script_links(self) -> None:
        """By these names."""
        template = (ROOT / "broker_config/templates/start/modules.sh.j2").read_text()
        assert all(name in template for name in (*flux_zips.scheduler_files(), flux_zips.SCHEDULER_ZIP))

    def test_stub_reports_what_it_needs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where Flux, or its Python, is too old; it comes before the zip."""
        monkeypatch.setitem(sys.modules, "flux.scheduler", None)  # a test on real Flux may have imported it
        text = flux_zips.scheduler_files()["minicluster-sched.py"]
        ast.parse(text, feature_version=(3, 8))
        namespace: dict[str, object] = {"__file__": "/nowhere/minicluster-sched.py", "__name__": "stub"}
        exec(compile(text, "minicluster-sched.py", "exec"), namespace)
        main = namespace["mod_main"]
        assert callable(main)
        with pytest.raises(RuntimeError, match=r"needs flux.scheduler, which this Flux does not have: 0.88"):
            main(None)
        namespace["OLDEST"] = (99, 0)
        with pytest.raises(RuntimeError, match=r"needs Python 99.0 or newer: Flux has 3"):
            main(None)
