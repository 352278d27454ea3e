"""What real Flux gets: small, always the same, and able to run where nothing else of ours is."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from minicluster.flux_modules import packing
from minicluster.flux_modules.door import extensions

ROOT = Path(__file__).parents[2]


def every_name() -> list[str]:
    return zipfile.ZipFile(io.BytesIO(packing.pack())).namelist()


def names() -> list[str]:
    """The sources: there is one other file."""
    return [name for name in every_name() if name != packing.EXTENSIONS]


def test_zip_names_what_others_serve() -> None:
    """It has no entry points."""
    with zipfile.ZipFile(io.BytesIO(packing.pack())) as archive:
        assert archive.read(packing.EXTENSIONS).decode().split() == extensions.named()


def test_zip_is_small() -> None:
    """A ConfigMap holds 1 MiB, and there is one a MiniCluster."""
    assert len(packing.pack()) < 120_000


def test_zip_is_always_the_same() -> None:
    """Else every start of the operator would renew every ConfigMap."""
    program = (
        "import hashlib; from minicluster.flux_modules import packing\n"
        "print(hashlib.sha256(packing.pack()).hexdigest())"
    )
    sums = {subprocess.check_output([sys.executable, "-c", program], cwd=ROOT) for _ in range(2)}
    assert len(sums) == 1


def test_zip_holds_the_sources(tmp_path: Path) -> None:
    """Unchanged, under their own names."""
    with zipfile.ZipFile(io.BytesIO(packing.pack())) as archive:
        assert all(archive.read(name) == (ROOT / name).read_bytes() for name in names())


@pytest.mark.parametrize("name", names())
def test_packed_file_is_plain_python(name: str) -> None:
    """Flux's own Python may be as old as 3.8."""
    ast.parse((ROOT / name).read_text(), name, feature_version=(3, 8))


def test_stub_is_plain_python() -> None:
    """It comes before the zip."""
    ast.parse(packing.module_files()["minicluster-door.py"], feature_version=(3, 8))


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
    ours = {
        each for each in _imported(name) if each.startswith(("minicluster.", "broker_config", "metrics_api"))
    }
    others = {each.partition(".")[0] for each in _imported(name) - ours}
    assert others <= sys.stdlib_module_names | {"flux"}
    assert {each for each in ours if (ROOT / f"{each.replace('.', '/')}.py").exists()} <= packed


def test_everything_but_flux_imports_from_the_zip_alone(tmp_path: Path) -> None:
    """In a Python that has no other path."""
    (tmp_path / packing.ZIP).write_bytes(packing.pack())
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / packing.ZIP)!r})\n"
        "import minicluster.flux_modules.door.door as door\n"
        "print(door.__file__)"
    )
    shown = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True)
    assert shown.startswith(str(tmp_path / packing.ZIP))


def test_texts_are_what_the_start_script_links() -> None:
    """By these names."""
    template = (ROOT / "broker_config/templates/start/modules.sh.j2").read_text()
    assert all(f"{name}" in template for name in (*packing.module_files(), packing.ZIP))


@pytest.fixture
def packed() -> zipfile.ZipFile:
    """The scheduler's zip."""
    return zipfile.ZipFile(io.BytesIO(packing.pack_scheduler()))


class TestScheduler:
    """What a lead gets that is to have one of our queue policies."""

    def test_zip_is_small(self) -> None:
        """A ConfigMap holds 1 MiB, and it is there besides the other zip."""
        assert len(packing.pack_scheduler()) < 150_000

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
        names = [str(path.relative_to(ROOT)) for path in packing.scheduler_paths()]
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
        (tmp_path / packing.SCHEDULER_ZIP).write_bytes(packing.pack_scheduler())
        program = (
            f"import sys; sys.path.insert(0, {str(tmp_path / packing.SCHEDULER_ZIP)!r})\n"
            "from queue_policies.plugins import load, policies\n"
            "import minicluster.flux_modules.scheduler.answers as answers\n"
            "print(*(load(name).name for name in policies()), answers.__file__)"
        )
        shown = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True).split()
        assert {"easy", "priority-elastic", "water-filling"} < set(shown)
        assert shown[-1].startswith(str(tmp_path / packing.SCHEDULER_ZIP))

    def test_texts_are_what_the_start_script_links(self) -> None:
        """By these names."""
        template = (ROOT / "broker_config/templates/start/modules.sh.j2").read_text()
        assert all(name in template for name in (*packing.scheduler_files(), packing.SCHEDULER_ZIP))

    def test_stub_says_what_it_needs(self) -> None:
        """Where Flux, or its Python, is too old; it comes before the zip."""
        text = packing.scheduler_files()["minicluster-sched.py"]
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
