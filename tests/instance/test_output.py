"""The output of a job: behind an entry, and what there is now, from brokers that can do so or not."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, cast

import pytest

from minicluster.instance.errors import RequestRefused
from minicluster.instance.job_logs import JobLogs, OutputDecoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.links.shared import SharedLinks


def line(text: str) -> str:
    context = f'{{"stream":"stdout","rank":"0","data":"{text}"}}'
    return f'{{"timestamp":1.0,"name":"data","context":{context}}}\n'


HEADER = '{"timestamp":1.0,"name":"header","context":{"version":1}}\n'


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([{"event": HEADER + line("a") + line("b") + line("c")}], id="all at once, of 0.1.0"),
        pytest.param([{"event": each} for each in (HEADER, line("a"), line("b"), line("c"))], id="of 0.1.0"),
        pytest.param([{"event": line("b"), "entry": 2}, {"event": line("c"), "entry": 3}], id="skipped"),
        pytest.param([{"event": line("b") + line("c"), "entry": 2}], id="skipped, at once"),
    ],
)
def test_what_is_behind_an_entry_has_the_same_numbers_from_every_broker(items: list[dict[str, str]]) -> None:
    decode = OutputDecoder(7, after=1)
    chunks = [chunk for item in items for chunk in decode(item)]
    assert [(chunk.sequence, chunk.data) for chunk in chunks] == [(2, b"b"), (3, b"c")]


class Watch:
    """A watch that goes on for ever behind its items, unless they end with a refusal."""

    def __init__(self, *items: Any) -> None:
        self.items = list(items)
        self.closed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item = self.items.pop(0)
        if isinstance(item, RequestRefused):
            raise item
        return item

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


STARTED = '{"timestamp":1.0,"name":"start"}\n'


@dataclass
class Links:
    """A broker that is watched, or answers with all of an output."""

    engine: str
    watch: Watch
    young: bool = True
    """Whether it numbers entries, as releases after 0.1.0 do."""
    asked: list[Any] = field(default_factory=list)

    def stream(self, topic: str, payload: Any) -> Watch:
        self.asked.append((topic, payload["flags"]))
        return self.watch

    def rpc(self, topic: str, payload: Any) -> Any:
        self.asked.append((topic, payload["keys"]))
        if not payload["keys"]:
            return {"id": payload["id"], **({"entry": 1} if self.young else {})}
        return {"id": payload["id"], "guest.output": "all of it"}


def refusal(errnum: int) -> RequestRefused:
    return RequestRefused("job-info.eventlog-watch", errnum, "")


END = {"event": None}
PRESENT = {
    "marked": (
        Links("flux", Watch({"event": "a"}, {"event": "b"}, END, {"event": "c"})),
        STARTED,
        ["a", "b"],
    ),
    "none yet": (Links("flux", Watch(refusal(errno.ENOENT))), STARTED, []),
    "waits for resources": (Links("flux", Watch()), "", []),
    "a Flux that does not know the flag": (
        Links("flux", Watch(refusal(errno.EPROTO), END)),
        STARTED,
        ["all of it"],
    ),
    "embedded": (Links("embedded", Watch({"event": "a"}, END)), "", ["a"]),
    "0.1.0": (Links("embedded", Watch(), young=False), STARTED, ["all of it"]),
}


@pytest.mark.parametrize(("links", "text", "shown"), PRESENT.values(), ids=PRESENT)
def test_what_is_there_ends_though_the_job_goes_on(links: Links, text: str, shown: list[str]) -> None:
    with JobLogs(cast("SharedLinks", links)).present_output(7, -1, text) as items:
        assert [item["event"] for item in items] == shown
    assert links.watch.closed or not any(topic.endswith("watch") for topic, _ in links.asked)


def test_what_is_there_is_read_as_it_is_asked_for() -> None:
    links = Links("flux", Watch({"event": "a"}, {"event": "b"}, END))
    items = JobLogs(cast("SharedLinks", links)).present_output(7, -1, STARTED)
    assert next(items)["event"] == "a"
    assert len(links.watch.items) == 2
    assert links.asked[-1] == ("job-info.eventlog-watch", 2)


@pytest.mark.parametrize(("names", "first"), [((), "eventlog"), (("start",), "guest.exec.eventlog")])
def test_what_is_known_to_be_reached_is_not_followed(names: tuple[str, ...], first: str) -> None:
    """Each eventlog that is followed is a question to the broker."""
    asked: list[str] = []

    class Recording(Links):
        def stream(self, topic: str, payload: Any) -> Watch:
            asked.append(payload["path"])
            return super().stream(topic, payload)

    log = "".join(json.dumps({"timestamp": 1.0, "name": name}) + "\n" for name in ("submit", *names))
    links = Recording("flux", Watch(refusal(errno.ENOENT)))
    assert list(JobLogs(cast("SharedLinks", links)).follow_output(7, -1, log)) == []
    assert asked == [first]


def test_another_refusal_is_raised() -> None:
    links = Links("flux", Watch(refusal(errno.EPERM)))
    with pytest.raises(RequestRefused):
        next(JobLogs(cast("SharedLinks", links)).present_output(7, -1, STARTED))
