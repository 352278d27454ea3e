"""What pytest has written of a run (JUnit's XML, family xunit1): each test, its outcome and its seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TestReport:
    """A test that was run: `outcome` is passed, failed or skipped."""

    nodeid: str
    outcome: str
    seconds: float

    __test__ = False  # no test of its own, whatever its name


def arguments(file: Path) -> tuple[str, ...]:
    """Return with what pytest writes such a file."""
    return (f"--junitxml={file}", "-o", "junit_family=xunit1", "-o", "junit_logging=no")


def read(file: Path) -> tuple[TestReport, ...]:
    """Return the tests of a run in their order; none where it was ended before it wrote."""
    if not file.exists():
        return ()
    return tuple(_report(each) for each in ElementTree.parse(file).iter("testcase"))


def _report(case: ElementTree.Element) -> TestReport:
    failed = case.find("failure") is not None or case.find("error") is not None
    skipped = case.find("skipped") is not None
    outcome = "failed" if failed else "skipped" if skipped else "passed"
    return TestReport(_nodeid(case), outcome, float(case.get("time", 0)))


def _nodeid(case: ElementTree.Element) -> str:
    """Return the node id; `classname` is the module, with the class of the test behind it."""
    file, name = case.get("file", ""), case.get("name", "")
    module = file.removesuffix(".py").replace("/", ".")
    inner = case.get("classname", "").removeprefix(module).strip(".")
    return "::".join([file, *filter(None, inner.split(".")), name])
