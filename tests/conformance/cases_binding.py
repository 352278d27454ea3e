"""The cores to which tasks are bound: the shell option `cpu-affinity`."""

from __future__ import annotations

import os
import re
from typing import Any

from tests.conformance.cases import Experiment, case

SHOW = ("sed", "-n", "s/^Cpus_allowed:[[:space:]]*//p", "/proc/self/status")


@case("jobs.output")
def tasks_are_bound_to_all_cores_of_the_job(lab: Experiment) -> Any:
    """With `on`, and with what is no value.

    Without the option the embedded instance binds nothing here, as brokers have more cores than the machine.
    """
    return {
        "on": bound(lab, "on", tasks=1),
        "on, of two": bound(lab, "on", tasks=2),
        "no such value": bound(lab, "nonsense", tasks=1),
        "no text": bound(lab, 1, tasks=1),
    }


@case("jobs.output")
def tasks_are_bound_to_cores_of_their_own(lab: Experiment) -> Any:
    return {
        "of two": bound(lab, "per-task", tasks=2),
        "of one": bound(lab, "per-task", tasks=1),
        "with two cores": bound(lab, "per-task", tasks=1, cores_per_task=2),
    }


@case("jobs.output")
def tasks_are_bound_by_a_map(lab: Experiment) -> Any:
    """By lists and masks of CPUs, not of cores; sets that are too few are used again."""
    first, second = own_cpus()[:2]
    return {
        "lists": bound(lab, f"map:{second};{first}", tasks=2),
        "a list of both": bound(lab, f"map:{first},{second};{first}", tasks=2),
        "masks": bound(lab, f"map:{1 << second:#x};{1 << first:#x}", tasks=2),
        "one for two": bound(lab, f"map:{second}", tasks=2),
        "more than tasks": bound(lab, f"map:{second};{first}", tasks=1),
    }


@case("jobs.output")
def tasks_that_are_not_bound(lab: Experiment) -> Any:
    """They may use what the broker may."""
    jobid = lab.done("free", *SHOW, shell_options={"cpu-affinity": "off"})
    return cpus(lab.output(jobid)["0 stdout"]) == own_cpus()


@case("jobs.output")
def bindings_are_printed(lab: Experiment) -> Any:
    first, second = own_cpus()[:2]
    options = ("verbose", "verbose,on", "verbose,per-task", f"dry-run,map:{second};{first}", "verbose,off")
    return [printed(lab, option) for option in options]


@case("jobs.wait", "jobs.output")
def maps_that_are_wrong(lab: Experiment) -> Any:
    return {value: wrong(lab, value) for value in ("map:", "map:x", "map:0;;x")}


def bound(lab: Experiment, value: object, **wishes: Any) -> dict[str, list[int]]:
    """Which CPUs each task may use, counted among those that the broker may use."""
    output = lab.output(lab.done("bound", *SHOW, shell_options={"cpu-affinity": value}, **wishes))
    own = own_cpus()
    return {key: [own.index(cpu) for cpu in cpus(text)] for key, text in output.items() if "stdout" in key}


def printed(lab: Experiment, option: str) -> Any:
    """What a job's shell logs with this option, and whether the first of two tasks has both CPUs."""
    output = lab.output(lab.done("shown", *SHOW, tasks=2, shell_options={"cpu-affinity": option}))
    both = cpus(output["0 stdout"]) == own_cpus()[:2]
    own = {str(cpu): f"<{number}>" for number, cpu in enumerate(own_cpus())}

    def numbered(found: re.Match[str]) -> str:
        return found[1] + re.sub("[0-9]+", lambda cpu: own[cpu[0]], found[2])

    return [re.sub("(cpus: )(.*)", numbered, line) for line in logged(output)], both


def logged(output: dict[str, str]) -> list[str]:
    """What a job's shell logs, without the component, which the embedded instance has in the text."""
    return [line.removeprefix("cpu-affinity: ") for line in output.get("0 log", "").splitlines()]


def own_cpus() -> list[int]:
    """The CPUs that brokers may use."""
    return sorted(os.sched_getaffinity(0))


def wrong(lab: Experiment, value: str) -> Any:
    """How a job ends with this option. The exception of Flux's has a note about files, not the reason."""
    jobid = lab.submit("wrong", "true", shell_options={"cpu-affinity": value})
    ended = lab.ended(jobid)
    exception = ended["exception"] and {key: ended["exception"][key] for key in ("type", "severity")}
    return ended["result"], ended["waitstatus"], exception, logged(lab.output(jobid))[:1]


def cpus(mask: str) -> list[int]:
    """The CPUs of a mask of /proc."""
    bits = int(mask.strip().replace(",", ""), 16)
    return [cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1]
