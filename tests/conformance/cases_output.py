"""Output and event streams."""

from __future__ import annotations

from typing import Any

from tests.conformance.cases import Experiment, case


@case("jobs.output")
def output_by_task_and_stream(lab: Experiment) -> Any:
    jobid = lab.done("talks", "sh", "-c", "echo out $FLUX_TASK_RANK; echo err $FLUX_TASK_RANK >&2", tasks=3)
    return lab.output(jobid), lab.output(jobid, follow=True)


@case("jobs.output")
def output_that_is_no_text(lab: Experiment) -> Any:
    return lab.output(lab.done("bytes", "printf", r"a\377\000\nzo\303\253\n"), follow=True)


@case("jobs.output")
def output_without_end_of_line(lab: Experiment) -> Any:
    return lab.output(lab.done("short", "printf", r"one\ntwo"), follow=True)


@case("jobs.output")
def large_output(lab: Experiment) -> Any:
    jobid = lab.done("large", "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo; seq 20000")
    text = lab.output(jobid, follow=True)["0 stdout"]
    return len(text), text.count("\n"), text[-6:]


@case("jobs.output")
def output_resumed(lab: Experiment) -> Any:
    jobid = lab.done("lines", "sh", "-c", "for i in 1 2 3 4 5; do echo $i; done")
    with lab.instance.jobs.output(jobid) as output:
        chunks = list(output)
    with lab.instance.jobs.output(jobid, after=chunks[0].sequence) as output:
        rest = list(output)
    with lab.instance.jobs.output(jobid, follow=True, after=chunks[-1].sequence) as output:
        nothing = list(output)
    assert [chunk.sequence for chunk in chunks] == sorted({chunk.sequence for chunk in chunks})
    return b"".join(chunk.data for chunk in chunks), rest == chunks[1:], nothing


@case("jobs.output")
def output_behind_any_entry(lab: Experiment) -> Any:
    """Now and followed, also behind the end; an entry of several chunks is whole."""
    script = "for i in 1 2 3; do echo $i; done; echo no >&2"
    jobid = lab.done("lines", "sh", "-c", script, tasks=2, shell_options={"output.mode": "combined"})
    with lab.instance.jobs.output(jobid) as output:
        chunks = list(output)

    def behind(after: int, follow: bool) -> bool:
        with lab.instance.jobs.output(jobid, follow=follow, after=after) as output:
            return list(output) == [each for each in chunks if each.sequence > after]

    ends = {chunk.sequence: chunk.last for chunk in chunks}
    seen = [behind(after, follow) for after in range(-1, chunks[-1].sequence + 3) for follow in (False, True)]
    return all(seen), all(ends.values()), sum(chunk.last for chunk in chunks) == len(ends)


@case("jobs.output")
def output_awaited_behind_an_entry(lab: Experiment) -> Any:
    """Followed from an entry that is not there yet, as by who resumes at another instance."""
    go = lab.lab.folder / "go"
    go.unlink(missing_ok=True)  # of the same case over another way to the instance
    script = f"echo one; while ! test -e {go}; do sleep 0.01; done; echo two; echo three"
    jobid = lab.running("talks", "sh", "-c", script)
    with lab.instance.jobs.output(jobid, follow=True, after=1) as output:
        go.touch()
        return b"".join(chunk.data for chunk in output if chunk.stream == "stdout")


@case("jobs.output")
def output_of_a_job_that_never_ran(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    before = lab.output(pending)
    with lab.instance.jobs.output(pending, follow=True) as output:
        lab.instance.jobs.cancel(pending)
        after = list(output)
    return before, after, lab.ended(pending)["result"]


@case("jobs.output")
def output_while_it_runs(lab: Experiment) -> Any:
    runs = lab.running("runs", "sh", "-c", "echo first; exec sleep 60")
    with lab.instance.jobs.output(runs, follow=True) as output:
        chunk = next(iter(output))
        state = lab.instance.jobs.get(runs).state.name
        now = lab.output(runs)
        lab.instance.jobs.cancel(runs)
        lab.instance.jobs.wait(runs, 20)
        rest = [each.data for each in output if each.stream != "log"]
    return chunk.task, chunk.stream, chunk.data, state, now, rest


@case("jobs.output")
def environment_of_a_task(lab: Experiment) -> Any:
    names = "GREETING FLUX_JOB_SIZE FLUX_JOB_NNODES FLUX_TASK_RANK FLUX_TASK_LOCAL_ID FLUX_JOB_CC"
    script = f'for name in {names}; do eval "echo $name=\\$$name"; done; pwd; echo "$@"'
    jobid = lab.done("asks", "sh", "-c", script, "sh", "two words", "$HOME", "'", "ä\n", tasks=2, nodes=2)
    return lab.output(jobid, follow=True)


@case("jobs.output", "jobs.jobspec")
def output_into_a_file(lab: Experiment) -> Any:
    options = {"output.stdout.type": "file", "output.stdout.path": f"{lab.lab.folder}/out-{{{{name}}}}.txt"}
    jobid = lab.done("writes", "sh", "-c", "echo to file; echo to err >&2", shell_options=options)
    seen = lab.output(jobid, follow=True)
    text = (lab.lab.folder / "out-writes.txt").read_text()
    return sorted(text.splitlines()), seen, lab.instance.jobs.jobspec(jobid)["attributes"]["system"]["shell"]


@case("jobs.events")
def events_now_and_followed(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    lab.reaches(pending, "priority")
    with lab.instance.jobs.events(pending) as events:
        now = [event.name for event in events]
    with lab.instance.jobs.events(pending, follow=True) as followed:
        early = [next(followed).name for _ in now]
        lab.instance.jobs.set_urgency(pending, 16)
        late = [event.name for event in followed]
    return now, early == now, late


@case("jobs.events")
def events_of_all_jobs(lab: Experiment) -> Any:
    first, second = lab.done("first", "true"), lab.done("second", "true")
    with lab.instance.jobs.events() as events:
        every = [event for event in events if event.id in (first, second)]
    assert [event.timestamp for event in every] == sorted(event.timestamp for event in every)
    return [[lab.ids[event.id], event.name] for event in every]


@case("jobs.events")
def events_of_all_jobs_followed(lab: Experiment) -> Any:
    with lab.instance.jobs.events(follow=True) as events:
        jobid = lab.submit("later", "true")
        seen = []
        for event in events:
            if event.id == jobid:
                seen.append([event.name, dict(event.context)])
                if event.name == "clean":
                    break
    return seen


@case("jobs.events", "close")
def closed_stream_is_at_its_end(lab: Experiment) -> Any:
    pending = lab.submit("held", "true", urgency=0)
    stream = lab.instance.jobs.events(pending, follow=True)
    first = next(stream).name
    stream.close()
    lab.instance.jobs.cancel(pending)
    return first, list(stream), lab.ended(pending)["result"]
