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
_DURATION = re.compile(r"(?:(?P<days>\d+)-(?=\d))?(?P<clock>(?(days)\d+(?::\d+){0,2}|\d+(?::\d+){1,2}))")
MAX_DURATION = 20
"""Characters of a duration for which another form is written."""
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


def duration(text: str) -> str:
    """Return what to write for one of Slurm's durations (sbatch(1), --time); else an empty text."""
    found = _DURATION.fullmatch(text)
    if found is None or len(text) > MAX_DURATION:
        return ""
    days, colons = found["days"], [int(each) for each in found["clock"].split(":")]
    # Behind days stand hours first; without days minutes and seconds are last.
    hours, minutes, seconds = [*colons, 0, 0][:3] if days else [0, *colons][-3:]
    total = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if total and total % length == 0:
            return f"{total // length}{unit}"
    return f"{total}s"


def jobs_apart(dependency: str) -> str:
    """Return what to write for a dependency on several jobs, as in afterok:1:2; else an empty text."""
    scheme, *jobs = dependency.split(":")
    if not scheme.startswith("after") or len(jobs) < 2 or not all(jobs):
        return ""
    return " ".join(f"--dependency {scheme}:{job}" for job in jobs)
