"""A list of objects that is kept up to date: listed once, then watched for changes."""

import contextlib
import json
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from http import HTTPStatus

from tests.devcluster.api import BROKEN, Api, Object, with_query
from tests.devcluster.errors import ApiError

SECONDS = 300  # after which the server ends a watch, and another goes on where it ended
END_TIMEOUT = 30.0  # for a server that does not end it
PAUSE = 0.1  # before a server that is away is asked again
GONE = "DELETED"


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told about one collection: `replace` gets all objects, `change` what happened to one of them.

    That is ADDED, MODIFIED or DELETED.
    """

    api: Api
    path: str
    replace: Callable[[list[Object]], None]
    change: Callable[[str, Object], None]

    def follow(self) -> None:
        """Follow the collection for ever; a server that cannot be reached, or refuses, is asked again."""
        version = ""
        while True:
            try:
                version = self.go_on(version or self.list())
            except ApiError as error:
                if error.status == HTTPStatus.GONE:
                    version = ""  # it has forgotten what happened since
                    continue
                time.sleep(PAUSE)
            except BROKEN:
                time.sleep(PAUSE)

    def list(self) -> str:
        """List the objects; return the version from which on changes are to be told."""
        found = self.api.get(self.path)
        self.replace(found["items"])
        return str(found["metadata"]["resourceVersion"])

    def go_on(self, version: str) -> str:
        """Tell changes until the server ends that, or cannot be reached; return the last version."""
        try:
            with contextlib.closing(self.events(version)) as events:
                for event in events:
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self.change(event["type"], event["object"])
        except BROKEN:
            time.sleep(PAUSE)
        return version

    def events(self, version: str) -> Generator[Object]:
        """Yield what the server tells; raise ApiError where it refuses, BROKEN where it is lost."""
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(SECONDS)}
        connection = self.api.dial()
        connection.timeout = SECONDS + END_TIMEOUT
        try:
            path = with_query(self.path, {**query, "resourceVersion": version})
            connection.request("GET", path, headers=self.api.headers())
            answer = connection.getresponse()
            if answer.status != HTTPStatus.OK:
                raise ApiError(answer.status, answer.reason, answer.read().decode(errors="replace"))
            while (line := answer.readline()).endswith(b"\n"):  # a server that ends breaks off
                event: Object = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(status["code"], status.get("reason", ""), status.get("message", ""))
                yield event
        finally:
            connection.close()
