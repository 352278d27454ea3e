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
)
