"""Command lines where bursts are managed: which jobs are routed at their submission, wait, or are refused."""

from __future__ import annotations

from minicluster import flux_zips
from tests.conformance.transcripts import Transcript

MANAGED = f"""
[policy.jobspec.defaults.system]
queue = "default"
[queues.default]
requires = ["local"]
[queues.burst]
requires = ["burst"]
[queues.burst-0]
requires = ["burst-0"]
[queues.burst-1]
requires = ["burst-1"]
[ingest.frobnicator]
plugins = ["defaults", "FOLDER/{flux_zips.BURST_FILE}", "constraints"]
[ingest.validator]
plugins = ["jobspec", "feasibility"]
[minicluster.bursting]
slots = ["burst-0", "burst-1"]
"""
SPEC = "flux job info {} jobspec | $JSON"
BURSTABLE = "--setattr=burstable"

BYPASS = """
[job-manager]
plugins = [{load = "alloc-bypass.so"}]
"""
WITHOUT_RESOURCES = '--setattr=alloc-bypass.R="$(flux R encode -r 0 -c 0 -H mc-0)"'
ALL = "flux jobs -no '{name} {status_abbrev} {returncode} {nnodes} {ncores} {ranks} {nodelist}'"

BURSTING = (
    Transcript(
        "bursting",
        (
            "flux queue list",
            "flux resource list -s all -no '{state} {properties} {nodelist}'",
            ("a", f"flux submit -N3 {BURSTABLE} true"),
            ("b", f"flux submit -n5 {BURSTABLE}=research true"),
            ("c", f"flux submit -N1 {BURSTABLE} hostname"),
            ("d", "flux submit -N1 true"),
            ("e", f"flux submit -q burst -N1 {BURSTABLE} true"),
            ("f", f"flux batch -N3 {BURSTABLE} --wrap true"),
            ("g", f"flux bulksubmit -N3 {BURSTABLE} {{}} ::: true"),
            ("h", "flux submit -q burst-0 --requires=rank:2 --setattr=minicluster.probe=aaaaaaaaaa true"),
            *(SPEC.format(f"${job}") for job in "abcdeh"),
            "flux submit -N3 true",
            f"flux submit -N3 {BURSTABLE}=false true",
            f"flux submit -N3 {BURSTABLE}=0 true",
            f"flux submit -N4 {BURSTABLE} true",
            f"flux submit -N7 {BURSTABLE} true",
            f"flux submit -N3 {BURSTABLE} --requires=local true",
            f"flux submit {BURSTABLE}=2 true",
            f"flux submit {BURSTABLE}=[] true",
            f"flux submit {BURSTABLE}= true",
            f"flux submit {BURSTABLE}=null true",
            f"flux submit '{BURSTABLE}=a b' true",
            "flux submit -q burst-0 true",
            f"flux submit -q burst-1 -N3 {BURSTABLE} true",
            f"flux run -N1 {BURSTABLE}=2 true",
            "flux queue start --queue=default",
            "flux job wait-event -q -t 20 $c clean",
            "flux job wait-event -q -t 20 $d clean",
            "flux run -N2 -n2 true",
            "flux jobs -no '{queue} {status_abbrev}' $a $b $c $d $e $f $g $h",
            "flux update $a queue=burst-1",
            "flux update $e queue=burst-1",
            "flux update $b queue=default",
            "flux jobs -no '{queue} {status_abbrev}' $a $b $e",
            "flux cancel $a $b $e $f $g $h",
            "flux queue drain",
        ),
        fresh=True,
        extra=MANAGED,
        properties={"local": "0-1", "burst": "2-5", "burst-0": "2", "burst-1": "3-5"},
        absent=("burst-0-0", "burst-1-0", "burst-1-1", "burst-1-2"),
    ),
    Transcript(
        "bypass",
        (
            ("full", "flux submit -N2 --exclusive --job-name=full sleep 60"),
            f"flux run {WITHOUT_RESOURCES} sh -c 'echo out; echo err >&2; exit 7'",
            ("a", f"flux submit {WITHOUT_RESOURCES} --job-name=killed sh -c 'kill -9 $$'"),
            "flux job wait-event -q -t 20 $a clean; flux job attach $a",
            "flux job eventlog $a | cut -d' ' -f2-",
            "flux job info $a R | $JSON",
            "flux queue stop",
            "flux resource drain 0 gone",
            f"flux run {WITHOUT_RESOURCES} --urgency=0 echo stopped, drained and held",
            ("b", f"flux submit {WITHOUT_RESOURCES} --job-name=long sleep 60"),
            "flux job wait-event -q -t 20 $b start",
            "flux resource list -s all -no '{state} {ncores} {nodelist}'",
            "flux job urgency $b 20",
            "flux queue start",
            "flux resource undrain 0",
            "flux cancel $full; flux job wait-event -q -t 20 $full clean",
            "flux resource drain 0 again; flux resource drain -no '{state} {reason} {nodelist}'",
            "flux resource undrain 0",
            (
                "c",
                f"flux submit {WITHOUT_RESOURCES} --dependency=afternotok:$b --job-name=copy echo its copy",
            ),
            "flux job info $c eventlog | grep -c bypass",
            "flux cancel $b; flux job attach $c",
            f"{ALL} --filter=inactive | sort",
            "flux submit --setattr=alloc-bypass.R=1 true",
            "flux submit --setattr=alloc-bypass.R=[] true",
            "flux submit --setattr=alloc-bypass.R=null true",
            "flux submit --setattr=alloc-bypass=1 true",
            "flux submit --setattr=alloc-bypass=[] true",
            "flux run --setattr=alloc-bypass.x=1 echo scheduled",
            "flux queue drain",
        ),
        fresh=True,
        extra=BYPASS,
    ),
)
