"""`minicluster burst report`: where it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from burst.cli import costs
from burst.cli.errors import ReportNotWritten
from burst.costs.report import page, reading, tables
from burst.costs.report.records import ReportData
from minicluster.cli.tables import echo, json_text

if TYPE_CHECKING:
    from burst.workplace import Workplace

STANDARD_OUTPUT, STANDARD_PAGE = "-", "-.html"
"""Both are printed: JSON, and a page, which is for a service's pod."""
JSON = ".json"


async def read(workplace: Workplace, since: float) -> ReportData:
    """Return what a report about bursts since a time is made from. Raises DatabaseError."""
    view = await costs.read(workplace, since, "")
    found = await workplace.ledger.read(lambda connection: reading.read(connection, since))
    currency = workplace.settings.settings.currency
    return ReportData(since, workplace.ledger.now(), currency, found, view.costs, view.alarms)


def write(data: ReportData, output: str) -> None:
    """Write it: JSON to the standard output (`-`), or to FILE.json; else a page. Raises ReportNotWritten."""
    save(text_of(data, output), output)


def text_of(data: ReportData, output: str) -> str:
    """Return it as JSON or as a page, by where it is written."""
    return f"{json_text(tables.facts(data), indent=2)}\n" if is_json(output) else page(data)


def is_json(output: str) -> bool:
    """Return whether it is for programs."""
    return output == STANDARD_OUTPUT or Path(output).suffix == JSON


def save(text: str, output: str) -> None:
    """Write the text of a report. Raises ReportNotWritten."""
    if output in (STANDARD_OUTPUT, STANDARD_PAGE):
        echo(text.rstrip("\n"))
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportNotWritten(f"{output}: {error.strerror or error}") from error
    echo(f"wrote {output}")
