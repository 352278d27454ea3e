"""From the options of `minicluster submit` to what an instance is asked to run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.cli.main import run
from minicluster.local.backend import LocalBackend
from minicluster.remote.backend import KubernetesBackend

if TYPE_CHECKING:
    from minicluster.instance.records import JobRequest

HERE = {"PATH": "/bin", "A": "1"}
LEAD = {"PATH": "/pod/bin", "A": "pod"}
LARGEST = "even at the cluster's largest size"
EMPTY_INPUT = {"input.stdin.type": "file", "input.stdin.path": "/dev/null"}
NEVER = "unsatisfiable request: 99 cores"


class Recorder:
    """Stands for the instances of all clusters, and keeps what was submitted."""

    def __init__(self) -> None:
        self.requests: list[JobRequest] = []
        self.jobs = self
        self.bulk = SimpleNamespace(submit=lambda requests: [self.submit(each) for each in requests])

    def unsatisfiable(self, request: JobRequest) -> str:
        """Have four cores."""
        return NEVER if request.cores_per_task > 4 else ""

    def submit(self, request: JobRequest) -> int:
        """Keep a request."""
        self.requests.append(request)
        return len(self.requests)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Every cluster, here and on Kubernetes."""
    made = Recorder()
    for backend in (LocalBackend, KubernetesBackend):
        monkeypatch.setattr(backend, "ask", lambda _self, _name, work: work(made))
    monkeypatch.setattr(LocalBackend, "job_environment", lambda _self, _name: HERE)
    monkeypatch.setattr(
        KubernetesBackend, "job_environment", lambda _self, _name, whole=False: LEAD if whole else None
    )
    monkeypatch.delenv("MINICLUSTER_ON", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return made


def _end(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["minicluster", "submit", *words])
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


OPTIONS = [
    pytest.param("--ntasks 3", {"tasks": 3}, id="ntasks"),
    pytest.param("-g 2", {"gpus_per_task": 2}, id="gpus"),
    pytest.param("-N 2 -x", {"nodes": 2, "tasks": 2, "exclusive": True}, id="whole-nodes"),
    pytest.param("-q debug", {"queue": "debug"}, id="queue"),
    pytest.param("--time-limit 90", {"duration": 90.0}, id="seconds, as in 0.1.0"),
    pytest.param("--time-limit 1.5h", {"duration": 5400.0}, id="a duration"),
    pytest.param("-t 10", {"duration": 600.0}, id="minutes, as Flux"),
    pytest.param("-t 30s", {"duration": 30.0}, id="a short duration"),
    pytest.param("--urgency 20", {"urgency": 20}, id="urgency"),
    pytest.param("--urgency hold", {"urgency": 0}, id="hold"),
    pytest.param("--job-name first", {"name": "first"}, id="name"),
    pytest.param("--dependency afterok:f1", {"dependencies": ("afterok:f1",)}, id="dependency"),
    pytest.param("--cwd /there", {"cwd": "/there"}, id="directory"),
    pytest.param(
        "--output out-{{id}} --input in -l",
        {
            "shell_options": {
                "input.stdin.type": "file",
                "input.stdin.path": "in",
                "output.stdout.type": "file",
                "output.stdout.path": "out-{{id}}",
                "output.stdout.label": True,
            }
        },
        id="files",
    ),
    pytest.param("", {"shell_options": EMPTY_INPUT}, id="no input"),
    pytest.param(
        "-o input.stdin.type=service", {"shell_options": {"input.stdin.type": "service"}}, id="attached input"
    ),
    pytest.param(
        "--error none", {"shell_options": {**EMPTY_INPUT, "output.stderr.type": "none"}}, id="no-file"
    ),
    pytest.param(
        "-o verbose -o a.b=2", {"shell_options": {**EMPTY_INPUT, "verbose": 1, "a.b": 2}}, id="shell"
    ),
    pytest.param(
        "-S user.elastic.min=1 -S x.y=z",
        {"attributes": {"elastic": {"min": 1}}, "system": {"x": {"y": "z"}}},
        id="attributes",
    ),
    pytest.param(
        "--results out.h5 --results logs",
        {"attributes": {"burst": {"results": ["out.h5", "logs"]}}},
        id="results",
    ),
    pytest.param("--burstable -t 5", {"system": {"burstable": True}, "duration": 300.0}, id="burstable"),
    pytest.param("--burst-to far -t 5", {"system": {"burstable": "far"}, "duration": 300.0}, id="burst-to"),
    pytest.param("--env B=$A$A --env=-PATH", {"environment": {"A": "1", "B": "11"}}, id="environment"),
    pytest.param(
        "--env R={{taskid}}",
        {"shell_options": {**EMPTY_INPUT, "env-expand": {"R": "{{taskid}}"}}},
        id="environment-template",
    ),
]


@pytest.mark.parametrize(("words", "expected"), OPTIONS)
def test_an_option_reaches_the_request(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder, words: str, expected: dict[str, Any]
) -> None:
    assert _end(monkeypatch, "mc", *words.split(), "prog") == 0
    (request,) = recorder.requests
    assert {name: getattr(request, name) for name in expected} == expected


def test_a_directory_here_is_one_of_the_users(monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    for options, expected in (((), str(Path.cwd() / "sub")), (("--on", "kubernetes"), "sub")):
        assert _end(monkeypatch, "mc", *options, "--cwd", "sub", "prog") == 0
        assert recorder.requests.pop().cwd == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("prog", None),
        ("--env A=2 prog", {"PATH": "/pod/bin", "A": "2"}),
        ("--cc 7 prog", {**LEAD, "FLUX_JOB_CC": "7"}),
    ],
    ids=["left", "changed", "copies"],
)
def test_on_kubernetes_the_environment_is_the_leads(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder, words: str, expected: dict[str, str] | None
) -> None:
    """It is fetched only where it is changed."""
    assert _end(monkeypatch, "mc", "--on", "kubernetes", *words.split()) == 0
    assert recorder.requests[0].environment == expected


def test_a_job_for_each_id(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorder: Recorder
) -> None:
    words = [
        "--cc",
        "1,4-5",
        "--job-name=n{cc}",
        "--output=o{{id}}.{cc}",
        "--env=SEED={cc}",
        "-S",
        "user.x={cc}",
    ]
    assert _end(monkeypatch, "mc", *words, "awk", "{print}", "{cc}", "{{cc}}") == 0
    assert capsys.readouterr().out.split() == ["ƒ2", "ƒ3", "ƒ4"]
    assert [request.command for request in recorder.requests] == [
        ("awk", "{print}", number, "{{cc}}") for number in ("1", "4", "5")
    ]
    last = recorder.requests[-1]
    assert (last.name, last.shell_options["output.stdout.path"]) == ("n5", "o{{id}}.5")
    assert (last.environment, last.attributes) == ({**HERE, "SEED": "5", "FLUX_JOB_CC": "5"}, {"x": "5"})


def test_braces_stay_where_there_is_one_job(monkeypatch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    assert _end(monkeypatch, "mc", "echo", "{cc}") == 0
    assert recorder.requests[0].command == ("echo", "{cc}")


def test_a_job_that_can_never_run_is_submitted_and_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorder: Recorder
) -> None:
    assert _end(monkeypatch, "mc", "-c", "99", "prog") == 0
    assert capsys.readouterr() == ("ƒ2\n", f"minicluster: ƒ2 can never run here, {LARGEST}: {NEVER}\n")
    assert _end(monkeypatch, "mc", "--cc", "0-1", "--quiet", "-c", "99", "prog") == 0
    assert capsys.readouterr() == (
        "",
        f"minicluster: none of these jobs can ever run here, {LARGEST}: {NEVER}\n",
    )


def _script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "job.sh"
    path.write_text(text)
    return str(path)


def test_a_batch_script_has_options_of_its_own(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder, tmp_path: Path
) -> None:
    """Those of the command line override them; the numbers of its time limit are minutes, as for Flux."""
    text = "#!/bin/sh\n# flux: --nslots=2 --time-limit=5\n# flux: --job-name 'two words'\nhostname\n"
    script = _script(tmp_path, text)
    assert _end(monkeypatch, "mc", "--batch", "-n", "4", script, "-n", "x") == 0
    (request,) = recorder.requests
    assert (request.script, request.command) == (text, (script, "-n", "x"))
    assert (request.tasks, request.duration, request.name) == (4, 300.0, "two words")


def test_without_batch_a_script_is_a_program(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder, tmp_path: Path
) -> None:
    assert _end(monkeypatch, "mc", _script(tmp_path, "#!/bin/sh\n# flux: -n 4\n")) == 0
    assert (recorder.requests[0].tasks, recorder.requests[0].script) == (1, "")


@pytest.mark.parametrize(
    ("options", "directive", "expected"),
    [
        pytest.param((), "-N2", (2, 2, True), id="nodes alone in the script"),
        pytest.param(("-N", "2"), "-t 5", (2, 2, True), id="nodes alone before it"),
        pytest.param((), "-N2 -n2", (2, 2, False), id="with slots"),
        pytest.param(("-n", "4"), "-N2", (2, 4, False), id="slots before it"),
        pytest.param(("-n", "1"), "-t 5", (0, 1, False), id="without nodes"),
    ],
)
def test_nodes_alone_are_whole_ones_for_a_batch_script(
    monkeypatch: pytest.MonkeyPatch,
    recorder: Recorder,
    tmp_path: Path,
    options: tuple[str, ...],
    directive: str,
    expected: tuple[int, int, bool],
) -> None:
    """As by `flux batch`."""
    script = _script(tmp_path, f"#!/bin/sh\n# flux: {directive}\n")
    assert _end(monkeypatch, "mc", "--batch", *options, script) == 0
    (request,) = recorder.requests
    assert (request.nodes, request.tasks, request.exclusive) == expected


def test_nodes_alone_are_a_task_on_each_for_a_program(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder
) -> None:
    assert _end(monkeypatch, "mc", "-N", "2", "prog") == 0
    assert (recorder.requests[0].tasks, recorder.requests[0].exclusive) == (2, False)


def test_a_time_limit_of_the_command_line_overrides_that_of_the_script(
    monkeypatch: pytest.MonkeyPatch, recorder: Recorder, tmp_path: Path
) -> None:
    script = _script(tmp_path, "#!/bin/sh\n# flux: -t 5\n")
    for option, seconds in (("--time-limit", 7.0), ("-t", 420.0)):
        assert _end(monkeypatch, "mc", "--batch", option, "7", script) == 0
        assert recorder.requests.pop().duration == seconds


def test_a_burstable_job_may_be_too_large_for_this_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorder: Recorder
) -> None:
    assert _end(monkeypatch, "mc", "-c", "99", "--burstable", "-t", "5", "true") == 0
    assert capsys.readouterr() == ("ƒ2\n", "")
    assert _end(monkeypatch, "mc", "--burstable", "true") == 0
    assert "a burstable job without a time limit has no cost at worst" in capsys.readouterr().err
    assert len(recorder.requests) == 2


LEFT = "minicluster: --output %x-%4a.%j.out: "
MPIRUN = (
    "minicluster: each task of the job starts mpirun, and that starts programs of its own;"
    " right would be `minicluster submit "
)
NOTICES = [
    pytest.param(
        "--batch slurm.sh",
        "minicluster: slurm.sh: its lines #SBATCH are ignored; docs/slurm.md has the lines `# flux:` in their"
        " place\n",
        id="directives",
    ),
    pytest.param("--batch plain.sh", "", id="no directives"),
    pytest.param(
        "--output %x-%4a.%j.out sh",
        f"{LEFT}%x stays as it is; write {{{{name}}}} (docs/slurm.md)\n"
        f"{LEFT}%4a stays as it is; write {{cc}} (docs/slurm.md)\n"
        f"{LEFT}%j stays as it is; write {{{{id}}}} (docs/slurm.md)\n",
        id="percents",
    ),
    pytest.param(
        "--error %A sh",
        "minicluster: --error %A: %A stays as it is; write {{id}} (docs/slurm.md)\n",
        id="error",
    ),
    pytest.param("--output 100%.out sh", "", id="a percent sign"),
    pytest.param(
        "plain.sh",
        "minicluster: plain.sh is no program on PATH, but a file: ./plain.sh runs it, --batch a batch"
        " script\n",
        id="a file, without its directory",
    ),
    pytest.param(
        "./plain.sh",
        "minicluster: ./plain.sh is not executable: `chmod +x ./plain.sh`, or --batch for a batch script\n",
        id="not executable",
    ),
    pytest.param("./program", "", id="executable"),
    pytest.param("-n 2 mpirun -n 4 ./pi 100", f"{MPIRUN}-n 4 -- ./pi 100`\n", id="mpirun"),
    pytest.param("-n 2 mpirun ./pi", f"{MPIRUN}-n 2 -- ./pi`\n", id="mpirun, whose tasks are the job's"),
    pytest.param("mpirun --bind-to core ./pi", f"{MPIRUN}-n 1 -- PROGRAM`\n", id="mpirun, with options"),
    pytest.param("mpirun -np 2 --bind-to core pi", f"{MPIRUN}-n 2 -- PROGRAM`\n", id="mpirun, with more"),
    pytest.param(
        "--on kubernetes /usr/bin/srun -n 2 ./pi",
        f"{MPIRUN.replace('mpirun', 'srun')}-n 2 -- ./pi`\n",
        id="srun",
    ),
    pytest.param("sh", "", id="on PATH"),
    pytest.param("absent", "", id="no file"),
    pytest.param("--on kubernetes plain.sh", "", id="files of pods"),
]


@pytest.mark.parametrize(("words", "notices"), NOTICES)
def test_what_will_hardly_work_is_reported_and_sent(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    recorder: Recorder,
    tmp_path: Path,
    words: str,
    notices: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("slurm.sh").write_text("#!/bin/sh\n#SBATCH -N 2\n")
    Path("plain.sh").write_text("#!/bin/sh\n# no SBATCH\n")
    Path("sh").write_text("a file called as a program on PATH is")
    Path("program").touch(0o755)
    assert _end(monkeypatch, "mc", *words.split()) == 0
    assert capsys.readouterr() == ("ƒ2\n", notices)
    assert len(recorder.requests) == 1


WRONG = [
    pytest.param(
        "--time-limit 5x p", "--time-limit: '5x' is no duration; right would be 30s, 5m,", id="limit"
    ),
    pytest.param("-t soon p", "-t: 'soon' is no duration; right would be 30s, 5m, 1.5h or 2d", id="minutes"),
    pytest.param(
        "--urgency 32 p", "--urgency: '32' is no urgency; right would be 0 to 31, hold,", id="urgency"
    ),
    pytest.param("--cc 3-1 p", "--cc: idset '3-1', character 1: range 3-1 does not ascend", id="cc"),
    pytest.param(
        "--cc 0-15:4 p",
        "--cc: idset '0-15:4', character 1: '0-15:4' is neither an id (no leading zeros) nor a range like"
        " 0-3; write 0,4,8,12",
        id="steps",
    ),
    pytest.param(
        "--dependency afterok:1:2 p",
        "--dependency: 'afterok:1:2' names several jobs; right would be --dependency afterok:1 --dependency"
        " afterok:2",
        id="dependency",
    ),
    pytest.param(
        "-t 5 --time-limit 300 p",
        "--time-limit: give it or -t, not both: '300' would be seconds, '5' minutes",
        id="two limits",
    ),
    pytest.param(
        "--results /etc p", "--results: '/etc': right is a path below the job's directory", id="results"
    ),
    pytest.param("--cc [] p", "--cc: []: has no ids; right would be 0-9 or 1,3", id="no ids"),
    pytest.param("--env B=$NO p", "--env: Variable 'NO' not found in B=$NO", id="env"),
    pytest.param("--env ^absent p", "--env: [Errno 2] No such file or directory: 'absent'", id="env-file"),
    pytest.param("--batch absent.sh", "absent.sh: cannot be read: No such file or directory", id="no script"),
    pytest.param("--batch bad.sh", "bad.sh: line 2: No such option: --frob", id="directive"),
    pytest.param("--batch quote.sh", "quote.sh: line 2: No closing quotation", id="quotes"),
    pytest.param("--batch bytes", "bytes: is no script: it is no text in UTF-8", id="no text"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_what_is_wrong_is_found_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    recorder: Recorder,
    tmp_path: Path,
    words: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.sh").write_text("#!/bin/sh\n# flux: --frob=1\n")
    Path("quote.sh").write_text("#!/bin/sh\n# flux: --job-name='x\n")
    Path("bytes").write_bytes(b"\x7fELF\xff")
    assert _end(monkeypatch, "mc", *words.split()) == 2
    shown = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert f"Invalid value for {message}" in shown, shown
    assert recorder.requests == []
