"""Command lines that submit jobs."""

# ruff: noqa: E501, ISC004 - a command line stays one line
from __future__ import annotations

from tests.conformance.transcripts import ANONYMOUS, FIELDS, Transcript

SUBMISSION = (
    Transcript(
        "submit",
        (
            ("a", "flux submit true"),
            "flux job wait-event -q -t 20 $a clean",
            ("b", "flux submit -N2 -n4 --job-name=b --urgency=20 -t 10m sh -c 'exit 2'"),
            "flux job wait-event -q -t 20 $b clean",
            f"flux jobs -n -o '{FIELDS} {{duration}}' $a $b",
            "flux submit --wait true | wc -l",
            "flux submit --quiet --wait false",
            "flux submit --wait --quiet sh -c 'kill -9 $$'",
            "flux submit --wait --quiet no-such-command",
            "flux submit --quiet --cc=1-3 --wait true",
            "flux submit --cc=0-1 true | wc -l",
            "flux queue drain",
        ),
    ),
    Transcript(
        "submit-watch",
        (
            "flux submit --quiet --watch --cc=0-2 sh -c 'echo copy $FLUX_JOB_CC' | sort",
            "flux submit --quiet --watch sh -c 'echo out; echo err >&2; exit 4'",
            "flux submit --quiet --watch -n2 --label-io sh -c 'echo task' | sort",
            "flux submit --quiet --watch --cc=1-2 --label-io echo x | sort",
            "flux submit --quiet --watch no-such-command",
        ),
    ),
    Transcript(
        "submit-dependency",
        (
            ("a", "flux submit --urgency=0 false"),
            ("b", "flux submit --dependency=afterok:$a true"),
            ("c", "flux submit --dependency=afterany:$a true"),
            ("d", "flux submit --dependency=afternotok:$a true"),
            "flux job wait-event -q -t 20 $b dependency-add",
            "flux jobs -n -o '{status} {urgency} {dependencies} {contextual_info}' $a $b",
            "flux job urgency $a 16",
            "for id in $a $b $c $d; do flux job wait-event -q -t 20 $id clean; done",
            "flux jobs -n -o '{id} {status_abbrev} {returncode} {success} {exception.type} {exception.note}' $a $b $c $d",
            "flux submit --dependency=afterok:nope true",
            "flux submit --dependency=afterok:ƒ1111 true",
            "flux submit --dependency=whenever:$a true",
        ),
    ),
    Transcript(
        "submit-attributes",
        (
            "flux submit --urgency=0 --setattr=user.color=red --setattr=user.depth.value=3 --setattr=x=[1,2]"
            f" --dry-run {ANONYMOUS} true | $JSON",
            ("a", "flux submit --urgency=0 --setattr=user.color=red true"),
            "flux job info $a jobspec | grep -o '\"user\":.*}' | tr -d ' ' | cut -c1-23",
            "flux cancel $a",
        ),
    ),
    Transcript(
        "submit-dry-run",
        (
            f"flux submit --dry-run {ANONYMOUS} true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} -n4 -c2 -g1 -t 90 echo 'two words' '' \"it's\" | $JSON",
            f"flux submit --dry-run {ANONYMOUS} -N2 -n4 true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} -N2 -n3 --exclusive true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} -N2 true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} --cores=4 --tasks-per-core=2 true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} -N2 --tasks-per-node=3 true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} --job-name=j -q none -o verbose -o cpu-affinity=off -o a.b=1 true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} --output=out-{{{{id}}}}.txt --error=err.txt --input=in.txt -l true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} --dependency=afterok:123 --requires=host:mc-1 -t 2h true | $JSON",
            f"flux submit --dry-run {ANONYMOUS} --cc=3-4 sh -c 'echo {{cc}}' | $JSON",
        ),
    ),
    Transcript(
        "submit-refused",
        (
            "flux submit 2>&1 | tail -1",
            "flux submit --nonsense true 2>&1 | tail -1",
            "flux submit -n x true 2>&1 | tail -1",
            "flux submit -N2 -n1 true",
            "flux submit --urgency=99 true",
            "flux submit --exclusive true",
            "flux submit -t nonsense true",
            "flux submit --queue=nope true",
            "flux submit --cc=nope true",
            "flux submit --env=FOO true >/dev/null && echo taken",
            "flux queue drain",
        ),
    ),
    Transcript(
        "run",
        (
            "flux run echo hello world",
            "flux run sh -c 'echo out; echo err >&2'",
            "flux run -N2 -n2 --label-io sh -c 'echo $FLUX_TASK_RANK of $FLUX_JOB_SIZE on $FLUX_JOB_NNODES' | sort",
            "flux run -n3 sh -c 'echo $FLUX_TASK_RANK' | sort",
            "flux run sh -c 'exit 3'",
            "flux run -n2 sh -c 'exit $((FLUX_TASK_RANK + 5))'",
            "flux run sh -c 'kill -15 $$'",
            "flux run no-such-command",
            "flux run /tmp",
            "flux run -t 0.3s sleep 30",
            r"flux run printf 'a\377b\n'",
            "flux run printf 'no end of line'",
            "flux run --urgency=20 --setattr=user.x=1 --job-name=named true",
            "flux run echo \"it's\" 'a \"quoted\" $HOME' '' 'tab\tand\nnewline'",
            "flux run -n99 true",
        ),
    ),
    Transcript(
        "run-env",
        (
            "GREETING=hello flux run --env=-* --env=GREETING --env=PATH printenv GREETING",
            "A=1 AB=2 flux run '--env=-/A./' sh -c 'echo $A.$AB.'",
            "printf -- '-GREETING\\nA=$HOME\\n' > rules; GREETING=hello flux run --env=^rules sh -c 'echo $GREETING.$A'",
            "flux run -n2 '--env=A=task-{{taskid}}-of-{{size}}' printenv A | sort",
            "flux run '--env=A=$NO_SUCH_VARIABLE' true",
            "flux run --env=^no-such-file true",
        ),
    ),
    Transcript(
        "run-input",
        (
            r"printf 'one\ntwo\n' | flux run cat",
            r"printf 'to all\n' | flux run -n2 --label-io cat | sort",
            "printf 'from file' > in.txt; flux run --input=in.txt cat",
            "flux run cat < /dev/null",
            "flux run --output=out.txt sh -c 'echo into file; echo err >&2'; sort out.txt",
            "flux run --output=out.txt --error=err.txt sh -c 'echo into file; echo err >&2'; cat out.txt err.txt",
            "cd /tmp && flux run pwd",
            "flux run --cwd=/usr pwd",
            "GREETING=hello flux run sh -c 'echo $GREETING'",
            "GREETING=hello flux run --env=-GREETING sh -c 'echo $GREETING.'",
            "flux run --env=A=b sh -c 'echo $A'",
        ),
    ),
    Transcript(
        "batch",
        (
            r"printf '#!/bin/sh\n#flux: -n2\n#flux: --job-name=nested\nflux getattr size; flux getattr instance-level; "
            r"flux resource list -s free -no {nnodes}:{ncores}; flux run echo in $1\nexit 5\n' > batch.sh",
            f"flux batch --dry-run {ANONYMOUS} -N2 --wrap x | $JSON",
            ("a", "flux batch --output=kvs batch.sh argument"),
            "flux job attach $a",
            "flux jobs -n -o '{name} {ntasks} {result} {returncode}' $a",
            ("b", "flux batch -n1 --output=kvs --wrap echo wrapped"),
            "flux job attach $b",
            ("c", "flux batch -n1 batch.sh x"),
            "flux job attach $c",
            "cat flux-$c.out",
            "flux batch no-such-script",
        ),
    ),
    Transcript(
        "alloc",
        (
            "flux alloc -n2 flux getattr instance-level",
            "flux alloc -N2 flux resource list -no '{state}:{nnodes}:{ncores}' | head -1",
            "flux alloc -n1 sh -c 'exit 6'",
        ),
    ),
)
