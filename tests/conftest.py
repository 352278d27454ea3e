"""Options and settings of the whole test run."""

import collections
import contextlib
import functools
import gc
import itertools
import logging
import os
import signal
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests import budgets
from tests.devcluster import HarnessError, MissingProgramsError, shipped_images
from tests.devcluster.archives import Archive
from tests.devcluster.reporting import unavailable

if TYPE_CHECKING:
    from tests.database.postgresql import Server

# A run in the background ignores SIGINT, one under nohup SIGHUP; and so would every process that a test
# starts and sends one: what is ignored is inherited, what is handled is not.
for signum in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(signum) is signal.SIG_IGN:
        signal.signal(signum, lambda *_: None)

# No deadline an example: a busy machine must not fail a test. Under CI the examples are always the same ones,
# so that a run is repeatable; elsewhere each run looks for new ones.
hypothesis.settings.register_profile(
    "project",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    max_examples=budgets.examples(budgets.DEFAULT),
)
hypothesis.settings.load_profile("project")


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """What a command logs to the standard error of its test: the next test's is another one."""
    root = logging.getLogger()
    before, level = set(root.handlers), root.level
    yield
    for handler in set(root.handlers) - before:
        if type(handler) is logging.StreamHandler:  # pytest's own are subclasses
            root.removeHandler(handler)
            root.setLevel(level)


@pytest.fixture(scope="module")
def unmeasured() -> Iterator[None]:
    """Measure no coverage in a module that computes for long what cheaper tests reach as well.

    pytest-cov has a mark for this, `no_cover`, which has no effect in the workers of xdist.
    """
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure coverage by the first examples of a property: the others reach little that is new."""
    tracer, handle = sys.gettrace(), getattr(getattr(item, "obj", None), "hypothesis", None)
    if tracer is None or handle is None:
        return (yield)
    inner, tried = handle.inner_test, itertools.count()

    @functools.wraps(inner)
    def tried_out(*arguments: Any, **named: Any) -> object:
        if next(tried) == budgets.MEASURED:
            sys.settrace(None)
        return inner(*arguments, **named)

    handle.inner_test = tried_out
    try:
        return (yield)
    finally:
        handle.inner_test = inner
        sys.settrace(tracer)


@pytest.fixture(scope="session")
def shipped() -> list[Archive]:
    """The images of containers/, built now if they changed; nodes have them where a test asks for this."""
    try:
        return shipped_images.build()
    except MissingProgramsError as error:
        unavailable(error, what="builder of images")


@pytest.fixture(scope="session")
def postgresql() -> Iterator["Server"]:
    """A PostgreSQL server of this test worker's own; `postgresql.database()` is the URL of a new database."""
    from tests.database import postgresql as servers  # noqa: PLC0415 - few tests need its driver

    try:
        yield from servers.serving()
    except MissingProgramsError as error:
        unavailable(error, what="PostgreSQL")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect ten thousand tests without looking for garbage among them, then and later: they all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install PostgreSQL now, where a test needs it and it is to be installed: that may take long."""
    option = session.config.getoption
    if not any("postgresql" in getattr(item, "fixturenames", ()) for item in session.items):
        return
    if not option("collectonly") or option("--build"):
        from tests.database import postgresql as servers  # noqa: PLC0415 - few tests need its driver

        with contextlib.suppress(HarnessError):  # the tests report it, each for itself
            servers.programs()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """With `--dist loadfile`: deal out whole files, see tests/dealing.py."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests import dealing  # noqa: PLC0415 - xdist is there if this is called

    return dealing.scheduler(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count what was skipped by its reason: a line a test would leave no room for what failed."""
    reasons = collections.Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        terminalreporter.section("skipped, by reason")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:6} {reason}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the caller name folders outside of this repository, and have golden files written anew."""
    parser.addoption(
        "--reference-examples",
        metavar="PATH",
        help="folder with the reference operator's example documents; without it their tests are skipped",
    )
    parser.addoption(
        "--kube-context",
        metavar="NAME",
        help="context of your kubeconfig: the Kubernetes tests use that cluster (they create and delete "
        "namespaces and apply the CRD), not a control plane of their own",
    )
    parser.addoption(
        "--one-plane",
        action="store_true",
        help="leave out the Kubernetes tests that need more than one control plane shows: an older version,"
        " Helm, KEDA, metrics-server, a metrics client, or nodes for more than a MiniCluster's start and end",
    )
    parser.addoption(
        "--prove-bursts",
        action="store_true",
        help="collect tests/kubernetes/pods/proofs as well: bursts between two clusters, for an hour",
    )
    parser.addoption(
        "--prove-placement",
        action="store_true",
        help="collect tests/kubernetes/pods/test_exclusive_cores.py as well: a cluster whose kubelet gives"
        " cores away",
    )
    parser.addoption(
        "--build",
        action="store_true",
        help="with --collect-only: build the programs and images that the tests need",
    )
    parser.addoption(
        "--hostile-documents",
        type=int,
        default=100,
        metavar="N",
        help="send so many hostile documents to an operator; some 420 attack every field once",
    )
    parser.addoption(
        "--hostile-seed",
        type=int,
        metavar="N",
        help="send the hostile documents of an earlier run, which printed this number",
    )
    parser.addoption(
        "--golden-write",
        action="store_true",
        help="write the golden files anew from what is rendered now; read the difference before committing",
    )
