"""Command lines about the instance: queues, resources, brokers, saving, starting."""

# ruff: noqa: E501 - a command line stays one line
from __future__ import annotations

from tests.conformance.transcripts import Transcript

INSTANCE = (
    Transcript(
        "queue",
        (
            "flux queue list",
            "flux queue status",
            "flux queue status -v",
            "flux queue stop",
            "flux queue status",
            "flux queue stop -m 'a pause'",
            "flux queue status -v",
            "flux queue list -no '{queue} {enabled} {started}'",
            ("a", "flux submit true"),
            "flux job wait-event -q -t 20 $a priority",
            "flux queue idle",
            "flux queue idle --quiet",
            "flux queue drain --timeout=0.2",
            "flux queue start --quiet",
            "flux queue start",
            "flux queue drain",
            "flux queue idle",
            "flux queue idle --timeout=1s",
            "flux queue status nope",
            "flux queue stop nope",
            "flux queue start --queue=nope",
            "flux queue 2>&1 | tail -1",
        ),
    ),
    Transcript(
        "resource-list",
        (
            "flux resource list",
            "flux resource list -n",
            "flux resource list -o '{state} {nnodes} {ncores} {ngpus} {nodelist} {rlist}'",
            "flux resource list --states=free,down",
            "flux resource list -s all -no '{nnodes}'",
            ("a", "flux submit -n2 -c1 sleep 60"),
            "flux job wait-event -q -t 20 $a start",
            "flux resource list",
            "flux cancel $a",
            "flux queue drain",
            "flux resource list --states=nonsense",
            "flux resource list -o '{nonsense}'",
        ),
    ),
    Transcript(
        "resource-drain",
        (
            "flux resource drain",
            "flux resource drain mc-1 broken disk",
            "flux resource drain",
            "flux resource drain -no '{state} {reason} {nnodes} {nodelist} {ranks}'",
            "flux resource status",
            "flux resource list",
            "flux resource drain 1 again",
            "flux resource drain --update 1 another reason",
            "flux resource drain --force 1 by force",
            "flux resource drain -no '{state} {reason}'",
            "flux resource undrain 1",
            "flux resource undrain 1",
            "flux resource drain 9",
            "flux resource drain nowhere",
            "flux resource undrain nowhere",
            "flux resource undrain 2>&1 | tail -1",
            "flux resource status",
            "flux resource status -no '{state} {nnodes} {nodelist}'",
            "flux resource status -s online -no '{state} {ranks}'",
        ),
    ),
    Transcript(
        "overlay-status",
        (
            "flux overlay status",
            "flux overlay status --summary",
            "flux overlay status --no-pretty",
            "flux overlay status --wait=full --timeout=5s",
            "flux overlay status --wait=degraded --timeout=0.2s",
        ),
    ),
    Transcript(
        "R-encode",
        (
            "flux R encode -r0-1 -c0-3 -H mc-[0-1]",
            "flux R encode -r0-3 -c0-1 -g0 -H node[1-4]",
            "flux R encode -r0 -H x",
            "flux R encode -c0-1 -H a,b",
            "flux R encode -r0-1 -c0 -H a",
            "flux R encode -r nonsense",
        ),
    ),
    Transcript(
        "keygen",
        (
            "flux keygen key.cert",
            "stat -c %a key.cert",
            "sed -n '/^curve/,$ s/=.*/= .../p' key.cert",
            "grep -c 'key = \"[!-~]\\{40\\}\"' key.cert",
            "flux keygen --name=mine named.cert; grep -c 'name = \"mine\"' named.cert",
            "flux keygen /no/such/folder/key.cert",
        ),
    ),
    Transcript(
        "getattr",
        (
            "flux getattr size",
            "flux getattr rank",
            "flux getattr hostlist",
            "flux getattr instance-level",
            "flux getattr local-uri",
            "flux getattr rundir",
            "flux getattr nonsense",
        ),
    ),
    Transcript("uptime", ("flux uptime | sed 's/  */ /g'",)),
    Transcript(
        "version",
        ("flux version | sed 's/[^:]*$//' | head -1", "flux --version | sed 's/[^:]*$//' | head -1"),
    ),
    Transcript(
        "unknown-command", ("flux nonsense", "FLUX_URI=local:///no/such flux getattr size 2>/dev/null")
    ),
    Transcript(
        "dump",
        (
            "flux submit --quiet --wait true",
            "flux dump -q all.tar",
            "test -s all.tar && echo written",
            "flux dump /no/such/folder/all.tar 2>/dev/null",
        ),
    ),
    Transcript(
        "shutdown",
        (
            "flux submit --quiet --urgency=0 true",
            "flux queue stop",
            "flux queue idle",
            "flux shutdown --quiet --dump=end.tar",
            "test -s end.tar && echo written",
            "for i in $(seq 200); do flux getattr size >/dev/null 2>&1 || break; sleep 0.05; done; flux getattr size 2>/dev/null",
        ),
        fresh=True,
    ),
    Transcript(
        "start",
        (
            "unset FLUX_URI; flux start -s2 flux getattr size",
            "unset FLUX_URI; flux start flux getattr size",
            "unset FLUX_URI; flux start sh -c 'exit 3'",
            "unset FLUX_URI; flux start -s2 sh -c 'flux run -N2 -n2 echo hello'",
            "unset FLUX_URI; flux start -s2 sh -c 'kill -9 $$' 2>/dev/null",
        ),
    ),
    Transcript(
        "broker",
        (
            "mkdir -m 700 single; unset FLUX_URI; flux broker -Srundir=$PWD/single sh -c 'flux getattr size; exit 4'",
            "unset FLUX_URI; flux broker -c /no/such.toml true 2>/dev/null",
            "unset FLUX_URI; printf '[bootstrap' > bad.toml; flux broker -c bad.toml true 2>/dev/null",
            "unset FLUX_URI; flux broker --nonsense true 2>/dev/null",
        ),
    ),
)
