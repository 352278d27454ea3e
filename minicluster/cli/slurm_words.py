"""What people who come from Slurm type, and what is there in its place (docs/slurm.md)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

PAGE = "docs/slurm.md"
INSTEAD = {
    "--time": "-t 30",
    **dict.fromkeys(("-a", "--array"), "--cc 0-9"),
    "-J": "--job-name NAME",
    "-d": "--dependency afterok:JOB",
    **dict.fromkeys(("-p", "--partition"), "-q QUEUE"),
    **dict.fromkeys(("--qos", "--priority", "--nice"), "--urgency 20"),
    **dict.fromkeys(("-H", "--hold"), "--urgency hold"),
    **dict.fromkeys(("-D", "--chdir"), "--cwd DIR"),
    "-W": "--wait",
    "-Q": "--quiet",
    "-i": "--input FILE",
    "-e": "--error FILE",
    "--export": "--env NAME=VALUE",
    "--cpus-per-task": "-c 4",
    "--ntasks-per-node": "-N 2 -n 8",
    **dict.fromkeys(("--gres", "--gpus-per-node"), "-g 1"),
}
"""Options of Slurm by what `minicluster submit` has for them."""
NOT_HERE = frozenset(
    {
        *("--mem", "--mem-per-cpu", "-w", "--nodelist", "--exclude", "-C", "--constraint", "-A", "--account"),
        *("--reservation", "-L", "--licenses", "--mail-type", "--mail-user", "-b", "--begin", "--signal"),
    }
)
"""Options of Slurm that `minicluster submit` has nothing for."""
_IN_NAMES = {
    **dict.fromkeys("jA", "{{id}}"),
    "a": "{cc}",
    "x": "{{name}}",
    "t": "{{taskid}}",
    "n": "{{node.id}}",
    "N": "{{node.name}}",
}
_PERCENT = re.compile(rf"%\d*([{''.join(_IN_NAMES)}])")
_STEPS = re.compile(r"(\d{1,9})-(\d{1,9}):(\d{1,9})")
_DIRECTIVE = re.compile(r"^#SBATCH\b", re.MULTILINE)
MAX_IDS = 50


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Say of an unknown option that the block refuses what is there in its place, if it is one of Slurm's."""
    try:
        yield
    except Exception as error:
        option = str(getattr(error, "option_name", ""))
        words = ""
        if option in INSTEAD:
            words = f"in place of Slurm's there is {INSTEAD[option]}"
        elif option in NOT_HERE:
            words = "nothing is there in place of Slurm's"
        if words:
            vars(error).update(message=f"No such option: {option}; {words}, see {PAGE}", possibilities=None)
        raise


def unknown_directives(script: str, text: str) -> Iterator[str]:
    """Yield a notice if a batch script has Slurm's directives, which nothing reads here."""
    if _DIRECTIVE.search(text):
        yield f"{script}: its lines #SBATCH are ignored; {PAGE} has the lines `# flux:` in their place"


def percents(option: str, name: str) -> Iterator[str]:
    """Yield a notice for each of Slurm's replacements in a file's name: they stay as they are."""
    for found in _PERCENT.finditer(name):
        yield f"{option} {name}: {found[0]} stays as it is; write {_IN_NAMES[found[1]]} ({PAGE})"


def steps(ids: str) -> str:
    """Return a hint, after a semicolon, for ids that have a step as in 0-15:4; else an empty text."""
    parts = ids.split(",")
    if not any(map(_STEPS.fullmatch, parts)):
        return ""
    written = []
    for part in parts:
        found = _STEPS.fullmatch(part)
        first, last, step = map(int, found.groups()) if found else (0, 0, 0)
        numbers = range(first, last + 1, step) if step else range(0)
        written.append(",".join(map(str, numbers[: MAX_IDS + 1])) if found else part)
    shown = ",".join(written)
    few = len(shown.split(",")) <= MAX_IDS and all(written)
    return f"; write {shown}" if few else "; write each id, as in 0,4,8"


def jobs_apart(dependency: str) -> str:
    """Return what to write for a dependency on several jobs, as in afterok:1:2; else an empty text."""
    scheme, *jobs = dependency.split(":")
    if not scheme.startswith("after") or len(jobs) < 2 or not all(jobs):
        return ""
    return " ".join(f"--dependency {scheme}:{job}" for job in jobs)
