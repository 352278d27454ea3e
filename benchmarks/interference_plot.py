"""How `interference.py` draws its pairs: what each program loses beside each other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interference_model import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from interference_model import Level, Pair


def plot(found: Mapping[str, Mapping[Pair, Level]], path: Path) -> None:
    """Draw a square of all pairs for each way; a loss that does not count is in brackets."""
    import matplotlib as mpl  # noqa: PLC0415 - the figures come without

    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, columns = pyplot.subplots(1, len(found), squeeze=False, figsize=(4.5 * len(found), 4))
    for (way, losses), axes in zip(found.items(), columns[0], strict=True):
        rows = [[100 * losses[kind, other].median for other in KINDS] for kind in KINDS]
        axes.imshow(rows, cmap="OrRd", vmin=0, vmax=60)
        for row, kind in enumerate(KINDS):
            for column, other in enumerate(KINDS):
                text = f"{rows[row][column]:.0f} %"
                counts = losses[kind, other].beyond_noise()
                axes.text(column, row, text if counts else f"({text})", ha="center", va="center")
        axes.set_xticks(range(len(KINDS)), [f"beside\n{kind}" for kind in KINDS])
        axes.set_yticks(range(len(KINDS)), KINDS)
        axes.set_title(f"{way}: less work for a second of CPU", fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
