"""For programs that use a MiniCluster's HTTPS service from elsewhere. Imports nothing of the service.

    from minicluster.client import Client

    with Client("https://mc.example.org") as client:
        job = client.submit("mc", ["hostname"], tasks=2)
        for chunk in job.output():
            print(chunk.task, chunk.data.decode(), end="")
        print(job.result().returncode)

`minicluster login --server https://mc.example.org` comes first, or a token in MINICLUSTER_TOKEN.
"""

from __future__ import annotations

from minicluster.client.client import Client
from minicluster.client.errors import ClientError
from minicluster.client.executor import JobExecutor, JobFuture
from minicluster.client.job_errors import JobFailure
from minicluster.client.jobs import RemoteJob
from minicluster.client.records import JobStatus
from minicluster.instance.records import OutputChunk

__all__ = [
    "Client",
    "ClientError",
    "JobExecutor",
    "JobFailure",
    "JobFuture",
    "JobStatus",
    "OutputChunk",
    "RemoteJob",
]
