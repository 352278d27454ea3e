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

STANDARD_OUTPUT = "-"
JSON = ".json"


async def read(workplace: Workplace, since: float) -> ReportData:
    """Return what a report about bursts since a time is made from. Raises DatabaseError."""
    view = await costs.read(workplace, since, "")
    found = await workplace.ledger.read(lambda connection: reading.read(connection, since))
    currency = workplace.settings.settings.currency
    return ReportData(since, workplace.ledger.now(), currency, found, view.costs, view.alarms)


def write(data: ReportData, output: str) -> None:
    """Write it: JSON to the standard output (`-`), or to FILE.json; else a page. Raises ReportNotWritten."""
    if output == STANDARD_OUTPUT:
        echo(json_text(tables.facts(data), indent=2))
        return
    path = Path(output)
    text = f"{json_text(tables.facts(data), indent=2)}\n" if path.suffix == JSON else page(data)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportNotWritten(f"{output}: {error.strerror or error}") from error
    echo(f"wrote {output}")
