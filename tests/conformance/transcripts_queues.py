"""Command lines about queues that require properties, and about jobs that are moved between them."""

from __future__ import annotations

from tests.conformance.transcripts import Transcript

REQUIRED = """
[policy.jobspec.defaults.system]
queue = "left"
[queues.left]
requires = ["left"]
[queues.right]
requires = ["right"]
[queues.any]
"""
UPDATED = "flux job eventlog $a | grep -o 'jobspec-update.*'"
SPEC = "flux job info {} jobspec | $JSON"

QUEUES = (
    Transcript(
        "update",
        (
            ("a", "flux submit --urgency=0 -t 1h true"),
            "flux job wait-event -q -t 20 $a priority",
            "flux update $a duration=2h",
            "flux update -v $a duration=+30m",
            "flux update --wait -v $a duration=-2h",
            "flux update $a duration=-5h",
            "flux jobs -no '{duration}' $a",
            "flux update -v $a duration=inf",
            "flux update $a duration=+1m",
            "flux update $a duration=nonsense",
            "flux update $a duration=",
            "flux update $a name=other",
            "flux update $a other",
            "flux update $a queue=other",
            "flux update $a queue=3",
            "flux update $a tasks.count=1",
            "flux update $a duration=1h other=2",
            "flux update -n $a duration=1h name=b queue=q other=1 list=[1,2] 'text=a b'",
            UPDATED,
            "flux cancel $a",
            "flux job wait-event -q -t 20 $a clean",
            "flux update $a duration=1h",
            "flux update ƒ1111 duration=1h",
            "flux update nonsense duration=1h 2>&1 | tail -1",
            "flux update $a 2>&1 | tail -1",
            ("b", "flux submit -t 1h sleep 60"),
            "flux job wait-event -q -t 20 $b start",
            "flux update -v $b duration=30m",
            "flux update $b duration=0.01",
            "flux update $b queue=other",
            "flux job eventlog $b | grep -o '[a-z]*-update [^=]*'",
            "flux update $b duration=0",
            "flux jobs -no '{duration} {expiration}' $b",
            ("c", "flux submit -t 1h sleep 60"),
            "flux job wait-event -q -t 20 $c start",
            "flux update $c duration=3s",
            "flux job wait-event -q -t 20 $c clean",
            "flux jobs -no '{result} {exception.type}' $c",
            "flux cancel $b",
            "flux queue drain",
        ),
    ),
    Transcript(
        "queues-that-require",
        (
            "flux queue list",
            "flux resource list",
            "flux resource list -s all -no '{state} {properties} {nodelist}'",
            "flux resource list -s down,all -o '{queue} {state} {nnodes} {propertiesx}'",
            "flux resource list -s all -o '{queue}'",
            ("a", "flux submit -N1 hostname"),
            ("b", "flux submit -q right -N1 true"),
            ("c", "flux submit -q any -N2 true"),
            ("d", "flux submit -q right --requires=right true"),
            ("e", "flux submit -q right --requires=rank:1 true"),
            ("f", "flux submit -q right --requires=host:mc-1 --requires=right true"),
            *(SPEC.format(f"${job}") for job in "abcdef"),
            "flux submit -q nope true",
            "flux update $b queue=left",
            "flux update $b queue=left",
            "flux update $b queue=nope",
            "flux update $e queue=left",
            "flux update $a queue=any",
            SPEC.format("$a"),
            "flux update -v $a queue=right duration=5m",
            SPEC.format("$a"),
            UPDATED,
            "flux update $c queue=right",
            "flux jobs -no '{queue} {status_abbrev}' $a $b $c $d $e $f",
            "flux queue start --all",
            "flux queue drain",
            "flux jobs -ano '{queue} {nodelist}' $a $b $c $d $e $f",
            "flux submit -N2 true",
            ("g", "flux jobs -ac1 -no '{id}'"),
            "flux job wait-event -q -t 20 $g clean; flux jobs -no '{queue} {result} {exception.note}' $g",
        ),
        fresh=True,
        extra=REQUIRED,
        properties={"left": "0", "right": "1", "fast": "1"},
    ),
)
