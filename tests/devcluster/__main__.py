"""A test cluster for development: `python -m tests.devcluster up`, `down` and `status`; `images` for it.

One a checkout (or more, by --name), in the background until `down`. Standard output is for shells: eval "$(…
up)".
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tests.devcluster import network, state
from tests.devcluster.access import read_access
from tests.devcluster.api import BROKEN, Api
from tests.devcluster.building import report
from tests.devcluster.control_plane import network_of, start
from tests.devcluster.errors import ApiError, GuardianError, HarnessError
from tests.devcluster.fake_nodes import node_names
from tests.devcluster.images import AnyImage
from tests.devcluster.lookup import HELM, locate
from tests.devcluster.options import Options
from tests.devcluster.processes import Guardian
from tests.devcluster.release import NAME as RELEASE
from tests.devcluster.release import NAMESPACE, Release
from tests.devcluster.waiting import until

T = TypeVar("T")
READY = "ready"  # a file that is there once the cluster is
CHECKOUT = Path(__file__).resolve().parents[2]


NAME = f"cluster-{hashlib.sha256(os.fsencode(CHECKOUT)).hexdigest()[:8]}"


def up(options: argparse.Namespace) -> int:
    """Start the cluster, if it does not run, and print how to use it."""
    directory = state.find(options.name)
    if directory is None:
        directory = bring_up(options)
    else:
        until((directory / READY).exists, f"the start that is under way in {directory}", 120)
        report("runs already; `make cluster-down` ends it")
    print(f"export KUBECONFIG={directory / 'kubeconfig'}")
    if options.install:
        report(f"helm, for the release {NAMESPACE}/{RELEASE}: {locate(HELM)['helm']}")
    return 0


def bring_up(options: argparse.Namespace) -> Path:
    """Start the cluster, to live on without this process."""
    # Imported here: `down` and `status` work without the project's own dependencies.
    from minicluster.document import crd  # noqa: PLC0415

    wanted = Options(version=options.version, crds=[crd()], audit=True, nodes=options.nodes)
    if options.install:
        wanted = replace(wanted, images=every_image())
    plane = start(wanted, name=options.name, detached=True)
    try:
        if options.install:
            report("installing the chart")
            installed = Release(plane.api, plane.kubeconfig, plane.directory)
            installed.install()
            installed.wait_ready()
        if options.fake_nodes:
            plane.add_fake_nodes(options.fake_nodes)
        if options.reachable:
            network.forward(network_of(plane), on=True)
        version = plane.version
        (plane.directory / READY).write_text(json.dumps({"version": version, "url": plane.url}))
    except BaseException:
        plane.stop()
        raise
    plane.api.hang_up()
    word = (
        "make cluster-down"
        if options.name == NAME
        else f"python -m tests.devcluster --name {options.name} down"
    )
    report(f"Kubernetes {version} at {plane.url}; `{word}` ends it")
    return plane.directory


def every_image() -> list[AnyImage]:
    """Return the nodes' images with those of containers/, built now if they changed."""
    # Imported here, like the CRD.
    from tests.devcluster import node_images, shipped_images  # noqa: PLC0415

    return [*node_images.build(), *shipped_images.build()]


def images(options: argparse.Namespace) -> int:
    """Build the images of containers/, and print the archive of each."""
    from tests.devcluster import shipped_images  # noqa: PLC0415

    for archive in shipped_images.build():
        print(f"{archive.name} {archive.file}")
    return 0


def down(options: argparse.Namespace) -> int:
    """End the cluster, and remove what crashes left behind."""
    if directory := state.find(options.name):
        Guardian(directory).end()
        until(lambda: not directory.exists(), f"{directory} to be removed")
        report("ended")
    else:
        report("none runs")
    state.clean()
    return 0


def status(options: argparse.Namespace) -> int:
    """Print whether the cluster runs and serves; exit with 0 if it does, else 3."""
    directory = state.find(options.name)
    if directory is None or not (directory / READY).exists():
        print("no test cluster" if directory is None else "a test cluster is starting")
        return 3
    info = json.loads((directory / READY).read_text())
    print(
        f"Kubernetes {info['version']} at {info['url']}, {'serving' if serves(directory) else 'not serving'}"
    )
    for name, ready in nodes(directory).items():
        print(f"  {name:24} {'Ready' if ready else 'not ready'}")
    for program, pid in Guardian(directory).pids().items():
        print(f"  {program:24} pid {pid}, log {directory / 'logs' / program}.log")
    return 0 if serves(directory) else 3


def serves(directory: Path) -> bool:
    """Ask the API server whether it is ready."""
    return ask(directory, lambda api: api.exists("/readyz"), otherwise=False)


def nodes(directory: Path) -> dict[str, bool]:
    """Ask the API server for the nodes, and whether pods can go to them."""

    def readiness(api: Api) -> dict[str, bool]:
        ready = node_names(api, ready=True)
        return {name: name in ready for name in sorted(node_names(api, ready=False))}

    return ask(directory, readiness, {})


def ask(directory: Path, question: Callable[[Api], T], otherwise: T) -> T:
    """Ask the API server something, if it answers."""
    api = Api(read_access(directory / "kubeconfig"))
    try:
        return question(api)
    except (*BROKEN, ApiError):
        return otherwise
    finally:
        api.hang_up()


def main(arguments: list[str] | None = None) -> int:
    """Run a command; errors of the harness are one line, without a traceback."""
    parser = argparse.ArgumentParser(prog="python -m tests.devcluster", description=__doc__)
    parser.add_argument("--name", default=NAME, help="of the cluster, where one for a checkout is not enough")
    commands = parser.add_subparsers(required=True, metavar="up|down|status|images")
    starting = commands.add_parser("up", help="start it, or find it running; prints an export of KUBECONFIG")
    starting.add_argument(
        "--fake-nodes", type=int, default=0, metavar="N", help="with N nodes that kwok plays"
    )
    starting.add_argument(
        "--nodes", type=int, default=0, metavar="N", help="with N real nodes, on which pods run; needs root"
    )
    starting.add_argument(
        "--version", metavar="1.N", help="of Kubernetes, where not the pinned one is wanted"
    )
    starting.add_argument(
        "--install", action="store_true", help="with the operator, as the chart installs it; needs --nodes"
    )
    starting.add_argument(
        "--reachable", action="store_true", help="reached from other clusters that are so too; needs --nodes"
    )
    starting.set_defaults(run=up)
    building = commands.add_parser("images", help="build the images of containers/; prints their archives")
    building.set_defaults(run=images)
    commands.add_parser("down", help="end it; nothing stays").set_defaults(run=down)
    commands.add_parser("status", help="say what runs").set_defaults(run=status)
    options = parser.parse_args(arguments)
    if options.run is up and options.install and not options.nodes:
        parser.error("--install needs nodes for the pods: --nodes 4 (make cluster NODES=4 INSTALL=1)")
    if options.run is up and options.reachable and not options.nodes:
        parser.error("--reachable needs nodes, whose network is reached: --nodes 2 (make clusters)")
    try:
        return int(options.run(options))
    except (HarnessError, GuardianError, TimeoutError) as error:
        report(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
