"""MiniClusters as the records that every back end fills."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from broker_config.formats.printable import few
from minicluster.backends.records import (
    ClusterListing,
    ClusterSample,
    ClusterSummary,
    StatusReport,
    StatusTable,
)
from minicluster.remote import clusters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.remote.clusters import Report
    from minicluster.remote.summary import Scaler, Summary
    from minicluster.remote.teardown import Saved

COLUMNS = ("name", "phase", "size", "max_size", "brokers_online", "exit_code", "age")
MAX_NAMED = 3
FIELDS = (
    *("name", "namespace", "phase", "size", "max_size", "brokers_online", "exit_code", "queue_policy", "age"),
    *("cpu_quotas", "expert_weights", "nodes_demanded", "nodes_up", "nodes_free", "nodes_drained"),
    *("jobs_pending", "jobs_running", "jobs_held", "jobs_unsatisfiable", "oldest_wait"),
    *("burst_nodes_up", "burst_jobs_pending", "burst_jobs_running"),
)


def listing(found: Iterable[Summary], namespace: str) -> ClusterListing:
    """Return a listing of a namespace; empty: of every one."""
    found = tuple(found)
    columns: tuple[str, ...] = COLUMNS if namespace else ("namespace", *COLUMNS)
    if any(each.cut for each in found):
        online = columns.index("brokers_online")
        columns = (*columns[:online], "brokers", *columns[online:])
    scope = f" in namespace {namespace}" if namespace else ""
    return ClusterListing(tuple(map(_summary, found)), columns, f"no cluster is up{scope}")


def outdated(found: Iterable[Summary]) -> str:
    """Return which MiniClusters of a listing have the status of an earlier version; empty: none."""
    names = [each.name for each in found if each.is_outdated]
    return f"{few(names, MAX_NAMED)}: {clusters.OUTDATED}" if names else ""


def status(found: Report) -> StatusReport:
    """Return the status of a MiniCluster."""
    conditions = tuple(map(dataclasses.asdict, found.summary.conditions))
    events = tuple(map(dataclasses.asdict, found.events or ()))
    return StatusReport(
        _summary(found.summary),
        FIELDS,
        people=_people(found) | _dump_fields(found.summary),
        programs=_programs(found) | {"last_dump": found.summary.last_dump},
        tables=(
            StatusTable(
                "conditions",
                conditions,
                ("type", "status", "reason", "age", "message"),
                empty=clusters.NO_OPERATOR,
                since="since",
            ),
            StatusTable(
                "events",
                events,
                ("age", "type", "reason", "count", "message"),
                title="latest Events:",
                since="last",
            ),
        ),
        bursts=found.summary.bursts,
    )


def sample(found: Report) -> ClusterSample:
    """Return what `top` shows of a MiniCluster."""
    about = found.summary
    row = {
        "name": about.name,
        "namespace": about.namespace,
        "phase": about.phase,
        "size": about.size,
        "max_size": about.max_size,
        "brokers_online": about.ready_brokers,
    }
    return ClusterSample(row, about.min_brokers, _people(found), _programs(found), about.bursts)


def saved(found: Saved | None) -> str:
    """Return the file of a save, its number of jobs, and how many of them start again or are lost."""
    if found is None:
        return "there was nothing to save"
    jobs = f"{found.jobs} {'job' if found.jobs == 1 else 'jobs'} that had not ended"
    more = ((found.restarted, "to be started again"), (found.lost, "lost"))
    counted = ", ".join((jobs, *(f"{count} {what}" for count, what in more if count)))
    return f"saved to {found.path}: {counted}"


def size_in_brokers(size: int, about: Summary) -> str:
    """Return a size for users, with the number of brokers where they were cut."""
    if about.cut is None:
        return str(size)
    brokers = size * about.parts
    return f"{size}, {brokers} {'broker' if brokers == 1 else 'brokers'}"


def _people(found: Report) -> dict[str, str]:
    """Return fields for users, some of which stand for those of programs with the same name."""
    about = found.summary
    return _cut_fields(about) | _outdated_fields(about) | _scaler_fields(found.scalers or ())


def _programs(found: Report) -> dict[str, Any]:
    return _broker_counts(found.summary) | {"autoscalers": _scaler_rows(found.scalers or ())}


def _broker_counts(about: Summary) -> dict[str, Any]:
    """Return how many brokers the size is, how many hosts Flux knows at most, and how brokers were cut."""
    return {
        "brokers": about.size * about.parts,
        "max_brokers": about.max_size and about.max_size * about.parts,
        "granularity": about.cut and dataclasses.asdict(about.cut),
    }


def _cut_fields(about: Summary) -> dict[str, str]:
    if about.cut is None:
        return {}
    size = f"{size_in_brokers(about.size, about)} ({about.cut.policy}, {about.cut.profile})"
    most = {"max_size": size_in_brokers(about.max_size, about)} if about.max_size else {}
    return {"size": size, **most}


def _outdated_fields(found: Summary) -> dict[str, str]:
    return {"status_is_old": clusters.OUTDATED} if found.is_outdated else {}


def _summary(found: Summary) -> ClusterSummary:
    more = {
        "namespace": found.namespace,
        "brokers_online": found.ready_brokers,
        "exit_code": found.exit_code,
        "queue_policy": found.queue_policy,
        **_broker_counts(found),
    }
    return ClusterSummary(found.name, found.phase, found.size, found.max_size, found.created, more)


def _scaler_rows(found: Iterable[Scaler]) -> list[dict[str, Any]]:
    return [{**dataclasses.asdict(each), "troubles": list(each.troubles)} for each in found]


def _scaler_fields(found: Iterable[Scaler]) -> dict[str, str]:
    """Return a line about autoscalers for users: the sizes that they want, and their problems."""
    lines = []
    for each in found:
        asks = "has not looked yet" if each.desired is None else f"asks for {each.desired}"
        troubles = "".join(f"; {trouble}" for trouble in each.troubles)
        lines.append(f"{each.name} {asks}, of {each.least} to {each.most}{troubles}")
    return {"autoscaler": " | ".join(lines)} if lines else {}


def _dump_fields(found: Summary) -> dict[str, str]:
    dump = found.last_dump
    if not dump:
        return {}
    jobs = dump.get("jobs", 0)
    return {"last_dump": f"{dump['path']}, {dump.get('time', '')}, {jobs} {'job' if jobs == 1 else 'jobs'}"}
