"""The stored jobspec and R of each job, and the attributes of inactive ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from minicluster.embedded.jobs.batch import Batch
    from minicluster.embedded.jobs.database import DatabaseRow, JobDatabase


class JobRecords:
    """The table `jobs`."""

    def __init__(self, database: JobDatabase, batch: Batch) -> None:
        self._database = database
        self._batch = batch
        self._infos: dict[int, tuple[float, str]] = {}
        """Of jobs whose end is not written yet: when they ended, and their attributes in listings."""

    def add(self, job: int, userid: int, jobspec: str) -> None:
        """Add a submitted job."""
        self._batch.add(job, "INSERT INTO jobs (id,userid,jobspec) VALUES (?,?,?)", (job, userid, jobspec))

    def set_jobspec(self, job: int, jobspec: str) -> None:
        """Set the jobspec of a job whose queue or time limit was changed."""
        self._batch.add(job, "UPDATE jobs SET jobspec=? WHERE id=?", (jobspec, job))

    def set_resources(self, job: int, resources: str) -> None:
        """Set the R of a job that got its allocation, or whose time limit was changed."""
        self._batch.add(job, "UPDATE jobs SET R=? WHERE id=?", (resources, job))

    def set_inactive(self, job: int, t_inactive: float, result: int, queue: str | None, info: str) -> None:
        """Set the attributes that listings show of a job that ended."""
        sql = "UPDATE jobs SET t_inactive=?,result=?,queue=?,info=? WHERE id=?"
        self._batch.add(job, sql, (t_inactive, result, queue, info, job))
        self._infos[job] = (t_inactive, info)
        self._batch.changed.add(job)

    def written(self) -> None:
        """Note that everything is in the file."""
        self._infos.clear()

    def jobspec(self, job: int) -> str | None:
        """Return the jobspec of a job, None where there is no such job."""
        return self._database.text("SELECT jobspec FROM jobs WHERE id=?", (job,))

    def resources(self, job: int) -> str | None:
        """Return the R of a job that has one."""
        return self._database.text("SELECT R FROM jobs WHERE id=?", (job,))

    def info(self, job: int) -> str | None:
        """Return the attributes of an inactive job in listings."""
        if job in self._infos:
            return self._infos[job][1]
        return self._database.text("SELECT info FROM jobs WHERE id=?", (job,))

    def active(self) -> Iterator[DatabaseRow]:
        """Yield the jobs that did not end, by id: id, userid, jobspec, R."""
        sql = "SELECT id,userid,jobspec,R FROM jobs WHERE t_inactive IS NULL AND id>? ORDER BY id LIMIT ?"
        yield from self._database.pages(sql)

    def inactive(self, since: float = 0.0) -> Iterator[DatabaseRow]:
        """Yield the jobs that ended after `since`, the latest first: id and info."""
        for job, (ended, info) in reversed(tuple(self._infos.items())):
            if ended > since:
                yield job, info
        sql = "SELECT id,info FROM jobs WHERE t_inactive>? ORDER BY t_inactive DESC, id DESC"
        yield from self._database.stream(sql, (since,))

    def counts(self) -> Iterable[DatabaseRow]:
        """Return the counts of inactive jobs: queue, result, count."""
        sql = "SELECT queue,result,COUNT(*) FROM jobs WHERE t_inactive IS NOT NULL GROUP BY queue,result"
        return self._database.rows(sql)

    def largest_id(self) -> int:
        """Return the largest job id, 0 without jobs."""
        return self._database.number("SELECT MAX(id) FROM jobs")

    def ids(self) -> Iterator[int]:
        """Yield every job's id, ascending."""
        for (job,) in self._database.pages("SELECT id FROM jobs WHERE id>? ORDER BY id LIMIT ?"):
            yield job
