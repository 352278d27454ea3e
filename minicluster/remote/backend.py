"""The MiniClusters of a Kubernetes cluster as a back end: operations with the user's rights.

This module imports the client only within functions: commands for other back ends must not wait for it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from minicluster.backends import errors, timeouts
from minicluster.backends.port import Backend, BackendKind, BackendOption

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from minicluster.backends.documents import DocumentText
    from minicluster.backends.port import Reporter, Write
    from minicluster.backends.records import (
        BroughtUp,
        ClusterListing,
        ComponentVersion,
        DownResult,
        Following,
        ScaleResult,
        StatusReport,
        SuspendResult,
        UpRequest,
        Watched,
    )
    from minicluster.document import Problem
    from minicluster.instance.port import Instance
    from minicluster.kube_client.errors import KubernetesError
    from minicluster.kube_client.kubeconfig import KubeContext
    from minicluster.plan import Site
    from minicluster.remote.session import NamespaceSession, Target
    from minicluster.remote.summary import Summary

T = TypeVar("T")
QUEUE_SECONDS = 20.0
"""Seconds in which a lead must report its queue; then `status` leaves the queue out."""


@dataclass(frozen=True, slots=True)
class KubernetesBackend(Backend):
    """The MiniClusters of a namespace."""

    given: Mapping[str, Any]
    reporter: Reporter
    location: ClassVar[str] = "a Kubernetes cluster"

    @property
    def words(self) -> str:
        """The options that choose the same namespace."""
        return f" --on kubernetes -n {_namespace(self)}"

    def up(self, text: DocumentText, request: UpRequest) -> Sequence[BroughtUp]:
        """Apply a file's documents, and wait until the MiniClusters run, or have ended."""
        from minicluster.backends import records
        from minicluster.backends.documents import core_changes, policy_of
        from minicluster.document import loading
        from minicluster.remote import documents, submission

        for other in loading.parse(text.text, source=text.source).skipped:
            if other.kind not in documents.DATA_KINDS:
                self.reporter.notice(f"{other} (kubectl apply -f takes it)")
        found, _ = documents.read(text.text, text.source)
        policy = policy_of(request.policy) if request.policy else None
        with translated():
            image = self.given["image"]
            cores = [*core_changes(request.cores)]
            chosen = documents.choose(found, request.name, request.size, policy, image, cores)
            given, usual = self.given["namespace"], _namespace(self)
            wanted = [documents.with_namespace(each, given, usual) for each in chosen]
        wait = self.given["wait"]
        how = {"force": self.given["force"], "wait": wait is not False, "to_the_end": wait is True}
        settled = _run(self, lambda asked: submission.up(asked, wanted, **how))
        if wait is not False:
            return [
                records.BroughtUp(each.name, each.phase, f" in namespace {each.namespace}")
                for each in settled
            ]
        return [
            records.BroughtUp(each.name, "accepted", f" in namespace {each.namespace}")
            for each in wanted
            if each.is_cluster
        ]

    def clusters(self) -> ClusterListing:
        """Return the MiniClusters of the namespace, or of all."""
        from minicluster.remote import clusters, reports

        everywhere = bool(self.given.get("all_namespaces"))  # only `list` has that option
        found = _run(self, lambda asked: clusters.listing(asked, every_namespace=everywhere))
        if outdated := reports.outdated(found):
            self.reporter.notice(outdated)
        return reports.listing(found, "" if everywhere else _namespace(self))

    def status(self, name: str, view: Callable[[Instance, int], T]) -> tuple[StatusReport, T | None]:
        """Return the status of a MiniCluster, and what `view` returns of its queue, where it may be read."""
        from minicluster.remote import clusters, reports

        found = _run(self, lambda asked: clusters.report(asked, name))
        return reports.status(found), _queue_view(self, found.summary, view)

    def watch(self, name: str, work: Callable[[Instance, Watched], T]) -> T:
        """Run `work`, over one connection to the lead and one to the API server."""
        from minicluster.remote import queue_watch

        return _run(self, lambda asked: queue_watch.watch(asked, name, work))

    def scale(self, name: str, size: int) -> ScaleResult:
        """Set a MiniCluster's size, and wait until its pods are there or gone."""
        from minicluster.backends import records
        from minicluster.remote import clusters

        wait = self.given["wait"]
        done = _run(self, lambda asked: clusters.scale(asked, name, size, wait=wait))
        is_done = wait or done.before == done.after
        return records.ScaleResult(done.before, done.after, is_done, done.parts)

    def suspend(self, name: str, *, suspended: bool) -> SuspendResult:
        """Set spec.suspend, and wait until its brokers are gone, or back."""
        from minicluster.backends import records
        from minicluster.remote import suspension

        wait = self.given["wait"]
        turn = suspension.suspend if suspended else suspension.resume
        return records.SuspendResult(_run(self, lambda asked: turn(asked, name, wait=wait)), wait)

    def down(self, name: str, dump: str) -> DownResult:
        """Delete a MiniCluster; with `dump` only once it was saved there."""
        from minicluster.backends import records
        from minicluster.remote import reports, teardown

        wait = self.given["wait"]

        async def end(asked: NamespaceSession) -> teardown.Saved | None:
            saved = await teardown.save(asked, name, dump) if dump else None
            await teardown.delete(asked, name, wait=wait)
            return saved

        saved = _run(self, end)
        return records.DownResult(wait, reports.saved(saved) if dump else "")

    def logs(self, name: str, write: Write, rank: int | None, *, follow: bool) -> None:
        """Write the logs of the pods."""
        from minicluster.remote import pod_logs

        _run(self, lambda asked: pod_logs.copy(asked, name, write, rank=rank, follow=follow))

    def attach(self, name: str, write: Write, work: Callable[[Instance, Following], int] | None) -> int:
        """Follow a job, or the document's own command, also through new starts of the lead."""
        from minicluster.remote import attach

        if work is None:
            return _run(self, lambda asked: attach.main_command(asked, name, write))
        return _run(self, lambda asked: attach.job(asked, name, write, work))

    def shell(self, name: str, command: Sequence[str]) -> int:
        """Run a command, or a shell, in the lead's container."""
        from minicluster.remote import terminal

        return _run(self, lambda asked: terminal.shell(asked, name, command))

    def ask(self, name: str, work: Callable[[Instance], T]) -> T:
        """Run `work` with a MiniCluster's instance."""
        from minicluster.remote import instances

        return _run(self, lambda asked: instances.ask(asked, name, work))

    def job_environment(self, name: str, *, whole: bool = False) -> Mapping[str, str] | None:
        """Return the lead broker's environment, if the whole of it is needed."""
        from minicluster.remote import lead

        return _run(self, lambda asked: lead.environment(asked, name)) if whole else None

    def trial(self, texts: Sequence[DocumentText], known: Sequence[Problem]) -> Sequence[Problem]:
        """Return what the API server would refuse; nothing is stored there."""
        from minicluster.remote import documents, submission

        found = [each for text in texts for each in documents.read(text.text, text.source)[0]]
        with translated():
            wanted = [
                documents.with_namespace(each, self.given["namespace"], _namespace(self))
                for each in found
                if each.is_cluster
            ]

        async def ask(asked: NamespaceSession) -> list[Problem]:
            return [problem for each in wanted for problem in await submission.trial(asked, each)]

        return submission.news(_run(self, ask), known)

    def site(self) -> Site:
        """Return the site of the Kubernetes cluster."""
        from minicluster.operator.site import site

        return _run(self, lambda asked: site(asked.client, asked.namespace))


def _versions(given: Mapping[str, Any], reporter: Reporter) -> Sequence[ComponentVersion]:
    """Return the versions of Kubernetes, the CRD, the operator and the leads, as far as one may see."""
    from minicluster.backends import records
    from minicluster.remote import versions

    try:
        return _run(KubernetesBackend(given, reporter), versions.components)
    except errors.WrongRequest:
        raise
    except errors.BackendError as error:
        return (records.ComponentVersion("Kubernetes", note=str(error)),)


def _target(backend: KubernetesBackend) -> Target:
    from minicluster.kube_client.access import Access
    from minicluster.remote.session import Target

    given = backend.given
    return Target(Access(given["kubeconfig"], given["context"]), given["namespace"])


def _namespace(backend: KubernetesBackend) -> str:
    with translated():
        return backend.given["namespace"] or _target(backend).access.namespace()


def _run(backend: KubernetesBackend, operation: Callable[[NamespaceSession], Awaitable[T]]) -> T:
    from minicluster.remote import session

    notice, timeout = backend.reporter.notice, backend.given.get("timeout")
    with translated():
        return session.run(_target(backend), operation, notice=notice, timeout=timeout)


def _queue_view(backend: KubernetesBackend, found: Summary, view: Callable[[Instance, int], T]) -> T | None:
    """Return what `view` returns of the instance. None where it is not up, or after a notice of an error."""
    from minicluster.instance.errors import InstanceError
    from minicluster.kube_client.errors import KubernetesError
    from minicluster.remote import instances, session

    if found.phase not in {"Running", "Resizing"}:
        return None
    try:
        return session.run(
            _target(backend),
            lambda asked: instances.ask(asked, found.name, lambda lead: view(lead, found.min_brokers)),
            timeout=QUEUE_SECONDS,
        )
    except (KubernetesError, InstanceError) as error:
        backend.reporter.notice(f"its queue cannot be shown: {error}")
        return None


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise the client's errors as those of a back end, with the same messages and exit codes."""
    from minicluster.kube_client.errors import KubernetesError

    try:
        yield
    except KubernetesError as error:
        raise _in_our_tree(error) from error


def _in_our_tree(error: KubernetesError) -> errors.BackendError:
    from minicluster.kube_client.errors import MissingError, RequestError, TimeOverError

    kinds: dict[type[KubernetesError], type[errors.BackendError]] = {
        MissingError: errors.NoCluster,
        RequestError: errors.WrongRequest,
        TimeOverError: errors.OutOfTime,
    }
    converted = kinds.get(type(error), errors.BackendError)(str(error))
    converted.exit_code = error.exit_code
    return converted


def _kube_contexts(given: Mapping[str, Any]) -> list[KubeContext]:
    from minicluster.kube_client import kubeconfig

    return kubeconfig.contexts(given.get("kubeconfig") or "")


def _contexts(given: Mapping[str, Any]) -> Mapping[str, str]:
    return {each.name: each.cluster for each in _kube_contexts(given)}


def _namespaces(given: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the namespaces of the contexts: the others are known to the API server only."""
    return {each.namespace: "" for each in _kube_contexts(given) if each.namespace}


_CHANGES = frozenset({"scale", "suspend", "resume", "down"})
KIND = BackendKind(
    KubernetesBackend,
    (
        BackendOption(
            ("--namespace", "-n"),
            "Kubernetes: in place of the context's namespace.",
            metavar="NS",
            values=_namespaces,
        ),
        BackendOption(
            ("--all-namespaces", "-A"),
            "Kubernetes: those of every namespace.",
            bool,
            default=False,
            commands=frozenset({"list"}),
        ),
        BackendOption(
            ("--context",),
            "Kubernetes: in place of the current context.",
            metavar="CONTEXT",
            values=_contexts,
        ),
        BackendOption(
            ("--kubeconfig",), "Kubernetes: in place of $KUBECONFIG and ~/.kube/config.", metavar="FILE"
        ),
        BackendOption(
            ("--image",),
            "Kubernetes: in place of the image of the container that runs the command.",
            metavar="IMAGE",
            commands=frozenset({"up"}),
        ),
        BackendOption(
            ("--force",),
            "Kubernetes: take over fields that somebody else has set.",
            bool,
            default=False,
            commands=frozenset({"up"}),
        ),
        BackendOption(
            ("--wait/--no-wait",),
            "Kubernetes: --wait until the main command has ended, --no-wait not at all; else until it runs.",
            bool | None,
            default=None,
            commands=frozenset({"up"}),
        ),
        BackendOption(
            ("--wait/--no-wait",),
            "Kubernetes: wait until it is done, telling each stage.",
            bool,
            default=True,
            commands=_CHANGES,
        ),
        BackendOption(
            ("--timeout",),
            "Kubernetes: wait no longer than 30s, 5m, 1.5h; then 124.",
            float | None,
            default=None,
            metavar="FSD",
            parse=timeouts.seconds,
            commands=_CHANGES | {"up"},
        ),
    ),
    versions=_versions,
)
