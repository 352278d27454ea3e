"""Make what a release hands out, in dist/: `python -m deploy.release` from the project's root.

minicluster-VERSION.tar.gz                            the source distribution
minicluster-VERSION-py3-none-any.whl                  the wheel, built from that
minicluster-operator-VERSION.tgz                      the operator's chart
minicluster-rest-VERSION.tgz                          the RESTful API's chart
minicluster-burst-VERSION.tgz                         the burst service's chart
minicluster-operator-image-VERSION-MACHINE.tar, …     the images as OCI archives, where they can be built here
SHA256SUMS                                            of these files; `sha256sum --check` reads it

Two runs on one commit make the same first five. Nothing is handed out under a version that CHANGELOG.md does
not describe, nor what is in no commit, unless `--anyway` asks for it.
"""

import argparse
import gzip
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.render import CHARTS, HERE, helm
from tests.devcluster import MissingProgramsError, shipped_images

ROOT = HERE.parent
SUMS = "SHA256SUMS"
EPOCH = "SOURCE_DATE_EPOCH"
OVERRIDE = "`make release ANYWAY=1` makes it all the same"
SECTION = re.compile(r"^## \[([^\]]+)\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Release:
    """What is released, and where to."""

    version: str
    epoch: int
    """The time of all files, in seconds since 1970: that of the commit."""
    folder: Path

    def files(self) -> Iterator[Path]:
        """Make the files one by one; end with what a program said that failed."""
        source = self.build("sdist", ROOT)
        yield source
        with tempfile.TemporaryDirectory() as work:
            with tarfile.open(source) as packed:
                packed.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
                packed.extractall(work)  # noqa: S202 - it was just packed
            yield self.build("wheel", Path(work, f"minicluster-{self.version}"))
        program = helm("the package of a chart")
        for chart in CHARTS:
            yield self.chart(program, chart)
        yield from self.images()

    def build(self, target: str, root: Path) -> Path:
        """Have hatchling build a target of a source tree."""
        options = ["--target", target, "--directory", str(self.folder)]
        called([sys.executable, "-m", "hatchling", "build", *options], root, {EPOCH: str(self.epoch)})
        ending = {"sdist": ".tar.gz", "wheel": "-py3-none-any.whl"}[target]
        return self.folder / f"minicluster-{self.version}{ending}"

    def chart(self, program: Path, chart: Path) -> Path:
        """Have helm package a chart, and give its files the time of the commit in place of now."""
        package = self.folder / f"{chart.name}-{self.version}.tgz"
        with tempfile.TemporaryDirectory() as work:
            called([str(program), "package", str(chart), "--destination", work], ROOT)
            repack(Path(work, package.name), package, self.epoch)
        return package

    def images(self) -> Iterator[Path]:
        """Copy the images' archives; where they cannot be built, say why."""
        try:
            built = shipped_images.build()
        except MissingProgramsError as error:
            print(f"no images: {error}", flush=True)
            return
        for archive in built:
            name = archive.name.rpartition("/")[2].partition(":")[0]
            copy = self.folder / f"{name}-image-{self.version}-{platform.machine()}.tar"
            shutil.copyfile(archive.file, copy)
            yield copy


def repack(packed: Path, result: Path, epoch: int) -> None:
    """Write a .tgz again, with one time and one owner for all its files."""
    with (
        tarfile.open(packed) as source,
        result.open("wb") as raw,
        gzip.GzipFile("", "wb", mtime=epoch, fileobj=raw) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.GNU_FORMAT) as target,
    ):
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            made = tarfile.TarInfo(member.name)
            made.size, made.mode, made.mtime = member.size, 0o644, epoch
            target.addfile(made, source.extractfile(member))


def problems(version: str, changelog: str, uncommitted: str) -> list[str]:
    """Return why this should not be released, each with what to do; `uncommitted` is git's short status."""
    found = []
    if version not in SECTION.findall(changelog):
        found.append(
            f"CHANGELOG.md has no section [{version}]: give [Unreleased] that name, and the day;"
            " or give pyproject.toml the version that is there"
        )
    elif "\n- " in changelog.partition("## [Unreleased]")[2].partition("\n## ")[0]:
        found.append(
            f"CHANGELOG.md has changes under [Unreleased], and {version} is there already: give them a"
            " version of their own, there and in pyproject.toml"
        )
    if uncommitted:
        first, *others = uncommitted.splitlines()
        more = f" and {len(others)} more" if others else ""
        found.append(f"there are changes in no commit ({first.strip()}{more}): commit them, or take them out")
    return found


def git(*words: str) -> str:
    """Return what git says of the project."""
    return called(["git", *words], ROOT)


def called(argv: Sequence[str], folder: Path, environment: Mapping[str, str] = {}) -> str:
    """Run a program, and return what it writes; where it fails, end with what it says."""
    environ = {**os.environ, **environment}
    done = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"a release cannot be made: `{shlex.join(argv)}` failed: {done.stderr.strip()}")
    return done.stdout


def main(words: Sequence[str] | None = None) -> None:
    """Make the files, and name each with its checksum."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description="Make a release in dist/.")
    parser.add_argument("--anyway", action="store_true", help="also of what should not be released")
    anyway = parser.parse_args(words).anyway
    version = str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
    found = problems(version, (ROOT / "CHANGELOG.md").read_text(), git("status", "--porcelain"))
    for text in found:
        print(f"release {version}: {text}", file=sys.stderr)
    if found and not anyway:
        sys.exit(OVERRIDE)
    epoch = int(os.environ.get(EPOCH) or git("log", "-1", "--format=%ct"))
    write(Release(version, epoch, ROOT / "dist"))


def write(release: Release) -> None:
    """Make the files, and at last their checksums: what is cut off has none."""
    release.folder.mkdir(exist_ok=True)
    (release.folder / SUMS).unlink(missing_ok=True)
    lines = []
    for file in release.files():
        with file.open("rb") as content:
            lines.append(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {file.name}\n")
        print(lines[-1], end="", flush=True)
    (release.folder / SUMS).write_text("".join(lines))


if __name__ == "__main__":
    main()
