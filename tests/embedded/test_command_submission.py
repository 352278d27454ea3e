"""From options to jobspecs: `--dry-run` prints what real Flux 0.88 prints (without its resource limits)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.commands import constraints
from minicluster.embedded.commands.console import CommandError, seconds
from minicluster.embedded.commands.environment import environment
from minicluster.embedded.main import main

if TYPE_CHECKING:
    from pathlib import Path


def slot(count: int, cores: int = 1, gpus: int = 0) -> dict[str, Any]:
    inside = [{"type": "core", "count": cores}] + ([{"type": "gpu", "count": gpus}] if gpus else [])
    return {"type": "slot", "count": count, "with": inside, "label": "task"}


def node(count: int, inside: dict[str, Any], *, exclusive: bool = False) -> dict[str, Any]:
    return {"type": "node", "count": count, **({"exclusive": True} if exclusive else {}), "with": [inside]}


def dry(capsys: pytest.CaptureFixture[str], *words: str, command: str = "submit") -> list[dict[str, Any]]:
    assert main([command, "--dry-run", "--env=-*", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


PER_SLOT = {"per_slot": 1}


@pytest.mark.parametrize(
    ("words", "resources", "count"),
    [
        ("true", slot(1), PER_SLOT),
        ("-n2 -g1 true", slot(2, 1, 1), PER_SLOT),
        ("-n4 -c2 true", slot(4, 2), PER_SLOT),
        ("-N2 true", node(2, slot(1), exclusive=True), PER_SLOT),
        ("-N2 -n0 true", node(2, slot(1), exclusive=True), PER_SLOT),
        ("-N2 -n4 -c2 true", node(2, slot(2, 2)), PER_SLOT),
        ("-N2 -x -n4 true", node(2, slot(2), exclusive=True), PER_SLOT),
        ("-n3 -N2 true", node(2, slot(2)), {"total": 3}),
        ("--cores=4 --tasks-per-core=2 true", slot(4), PER_SLOT),
        ("-N2 --cores=8 true", node(2, slot(1, 4)), PER_SLOT),
        ("-N2 --tasks-per-node=2 true", node(2, slot(1), exclusive=True), PER_SLOT),
    ],
)
def test_resources(words: str, resources: dict[str, Any], count: dict[str, int], capsys: Any) -> None:
    [spec] = dry(capsys, *words.split())
    assert (spec["resources"], spec["tasks"][0]["count"]) == ([resources], count)


SYSTEM = ("attributes", "system")
SHELL = (*SYSTEM, "shell", "options")


@pytest.mark.parametrize(
    ("words", "path", "value"),
    [
        (["-t", "5"], (*SYSTEM, "duration"), 300.0),
        (["-t", "0.5h"], (*SYSTEM, "duration"), 1800.0),
        (["--job-name=jn"], (*SYSTEM, "job", "name"), "jn"),
        (["--queue=batch"], (*SYSTEM, "queue"), "batch"),
        (["--cwd=/x"], (*SYSTEM, "cwd"), "/x"),
        (["--tasks-per-node=2", "-N1"], (*SHELL, "per-resource"), {"type": "node", "count": 2}),
        (["-o", "foo.bar=3"], (*SHELL, "foo", "bar"), 3),
        (["-o", "verbose"], (*SHELL, "verbose"), 1),
        (["-o", "exit-timeout=none"], (*SHELL, "exit-timeout"), "none"),
        (
            ["--output=o.txt", "-l"],
            (*SHELL, "output", "stdout"),
            {"type": "file", "path": "o.txt", "label": True},
        ),
        (["--error=e.txt"], (*SHELL, "output"), {"stderr": {"type": "file", "path": "e.txt"}}),
        (["--input=i.txt"], (*SHELL, "input", "stdin"), {"type": "file", "path": "i.txt"}),
        (["--setattr=user.x=5"], ("attributes", "user", "x"), 5),
        (["--setattr=x.y.z=q"], (*SYSTEM, "x", "y", "z"), "q"),
        (["--setattr=attributes.user.p"], ("attributes", "user", "p"), 1),
        (["-S", 'system.y={"a":1}'], (*SYSTEM, "y"), {"a": 1}),
        (["--dependency=afterok:12"], (*SYSTEM, "dependencies"), [{"scheme": "afterok", "value": "12"}]),
        (["--dependency=singleton"], (*SYSTEM, "dependencies"), [{"scheme": "singleton", "value": ""}]),
        (["--requires=host:a"], (*SYSTEM, "constraints"), {"hostlist": ["a"]}),
        (["--env=A=b", "--env=C=${A}c"], (*SYSTEM, "environment"), {"A": "b", "C": "bc"}),
    ],
)
def test_an_option_reaches_the_jobspec(
    words: list[str], path: tuple[str, ...], value: object, capsys: Any
) -> None:
    [spec] = dry(capsys, *words, "true")
    for key in path:
        spec = spec[key]
    assert spec == value


def test_cc_replaces_its_mark_and_sets_the_variable(capsys: Any) -> None:
    words = [
        "--cc=2-3",
        "--job-name=j{cc}",
        "--output=o{{id}}.{cc}",
        "--setattr=user.x={cc}",
        "echo",
        "{cc}",
        "{{cc}}",
    ]
    [first] = dry(capsys, *words)  # of several copies the first is shown, as Flux does
    system = first["attributes"]["system"]
    assert first["tasks"][0]["command"] == ["echo", "2", "{{cc}}"]
    assert (system["job"]["name"], system["environment"]) == ("j2", {"FLUX_JOB_CC": "2"})
    assert system["shell"]["options"]["output"]["stdout"]["path"] == "o{{id}}.2"
    assert first["attributes"]["user"] == {"x": 2}


def test_words_after_the_command_are_its_own(capsys: Any) -> None:
    [spec] = dry(capsys, "-n1", "echo", "-n", "--cc=3", "--", "é $x 'q'")
    assert spec["tasks"][0]["command"] == ["echo", "-n", "--cc=3", "--", "é $x 'q'"]


def test_two_dashes_end_the_options(capsys: Any) -> None:
    [spec] = dry(capsys, "-n1", "--", "-x")
    assert spec["tasks"][0]["command"] == ["-x"]


def test_a_batch_script_carries_its_own_options(tmp_path: Path, capsys: Any) -> None:
    script = tmp_path / "s.sh"
    script.write_text(
        "#!/bin/sh\n# flux: -N2 --job-name='two words'\n#flux: -t 5m # why\necho hi $1\n#flux: -n9\n"
    )
    [spec] = dry(capsys, "-t", "1", str(script), "a b", command="batch")
    system = spec["attributes"]["system"]
    assert spec["resources"] == [node(2, slot(1), exclusive=True)]
    assert spec["tasks"][0]["command"] == ["flux", "broker", "{{tmpdir}}/script", "a b"]
    assert (system["duration"], system["job"]["name"]) == (60.0, "two words")
    assert system["files"]["script"] == {"mode": 0o100700, "data": script.read_text(), "encoding": "utf-8"}
    assert system["shell"]["options"] == {
        "output": {"stdout": {"type": "file", "path": "flux-{{id}}.out"}},
        "per-resource": {"type": "node"},
        "mpi": "none",
        "exit-timeout": "none",
    }


def test_batch_wraps_words_in_a_script(capsys: Any) -> None:
    [spec] = dry(capsys, "-n1", "--wrap", "echo", "a b", command="batch")
    assert spec["attributes"]["system"]["files"]["script"]["data"] == "#!/bin/sh\necho 'a b'\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("submit -n2x true", "--ntasks: invalid int value '2x'"),
        ("submit -N0 true", "node count must be an integer >= 1 (if set)"),
        ("submit -N4 -n2 true", "node count must not be greater than task count"),
        ("submit --tasks-per-node=3 true", "must specify node or core count with per_resource"),
        ("submit -N1 -n4 --tasks-per-node=2 true", "Per-resource options can't be used with per-task"),
        ("submit -n2 --exclusive true", "exclusive can only be set with a node count"),
        ("submit -t 1x true", "invalid Flux standard duration"),
        ("submit", "job command and arguments are missing"),
        ("run -n1", "job command and arguments are missing"),
        ("submit --cc=x true", "IDset(): Invalid argument: x"),
        ("submit --env=A=$NOPE_X true", "--env: Variable 'NOPE_X' not found in A=$NOPE_X"),
        ("submit --requires=not true", "--requires='not': Unexpected end of input in 'not'"),
        ("submit --requires=host: true", "--requires='host:': Missing argument to token 'host:'"),
        ("submit --requires=x:1 true", "--requires='x:1': Unknown constraint operator 'x'"),
        ("submit --dependency=:3 true", 'Invalid dependency URI ":3"'),
        ("submit --flags=bogus true", "--flags: Unknown flag 'bogus'"),
        ("submit --urgency=x true", "--urgency: invalid int value 'x'"),
        ("batch -n1 nosuch.sh", "No such file or directory: 'nosuch.sh'"),
        ("batch -n1 /etc/passwd", "/etc/passwd does not appear to start with '#!'"),
        ("batch --wrap true", "Number of slots to allocate must be specified"),
    ],
)
def test_a_wrong_option_reports_why(words: str, message: str, capsys: Any) -> None:
    command, *_ = words.split()
    assert main(words.split()) == 1
    assert capsys.readouterr().err.startswith(f"flux-{command}: ERROR: {message}")


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("a", {"properties": ["a"]}),
        ("a b", {"and": [{"properties": ["a"]}, {"properties": ["b"]}]}),
        ("-host:a rank:0-2", {"and": [{"not": [{"hostlist": ["a"]}]}, {"ranks": ["0-2"]}]}),
        ("not a & host:x", {"and": [{"not": [{"properties": ["a"]}]}, {"hostlist": ["x"]}]}),
    ],
)
def test_constraints(text: str, constraint: object) -> None:
    assert constraints.parse(text) == constraint


@pytest.mark.parametrize("text", ["", "(a", "a|b", "not", "-"])
def test_a_broken_constraint_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="--requires="):
        constraints.parse(text)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ([], {"A": "1", "AB": "2", "B": "5"}),
        (["-A*"], {"B": "5"}),
        (["-*", "A"], {"A": "1"}),
        (["Z=$A/$$${B}"], {"A": "1", "AB": "2", "B": "5", "Z": "1/$5"}),
        (["A=9", "A"], {"A": "9", "AB": "2", "B": "5"}),
    ],
)
def test_environment_rules(rules: list[str], left: dict[str, str]) -> None:
    assert environment(rules, {"A": "1", "AB": "2", "B": "5"}).values == left


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("500ms", 0.5), ("2m", 120), ("1.5h", 5400), ("1d", 86400)]
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "x", "-1", "1y", "nan", "inf"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid Flux standard duration"):
        seconds(text)
