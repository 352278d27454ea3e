"""Output of 10^6 lines from four tasks, with binary in it: each byte once, whatever ends meanwhile."""

from __future__ import annotations

from tests.restful.faults import service_process
from tests.restful.faults.proof import Proof, instance
from tests.restful.faults.streams import files_of, read_all

LINES, KILLS, RESTARTS = 1_000_000, 50, 5


def main() -> None:
    """Prove it, and print figures."""
    proof = Proof()
    with instance() as laboratory:
        folder = laboratory.folder / "service"
        folder.mkdir()
        with service_process.running(folder, laboratory.uri) as service:
            reading, behind = read_all(laboratory, service, LINES, KILLS, RESTARTS)
        files = files_of(laboratory)
    read = {task: bytes(data) for task, data in reading.written.items()}
    lines = sum(each.count(b"\n") for each in files.values())
    proof.fact(
        f"{lines} ends of lines, {KILLS} readers killed, {RESTARTS} services, 1 instance restarted",
        holds=lines >= LINES,
    )
    total = sum(map(len, read.values()))
    proof.fact(f"each task's bytes are those that it wrote ({total} bytes)", holds=read == files)
    proof.fact(f"behind the end there is nothing ({behind})", holds=behind == 204)
    proof.end()


if __name__ == "__main__":
    main()
