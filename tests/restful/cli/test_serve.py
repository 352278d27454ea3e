"""`minicluster serve` from its start to its end, as a process."""

import os
import socket
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest

from tests.devcluster.waiting import until
from tests.restful.cli.serving import Served, serving

USER, PASSWORD = "alice", "correct horse battery"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A service with a login."""
    with serving() as found:
        found.add_user(USER, PASSWORD)
        yield found


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx2.Client]:
    """A client that has logged in."""
    form = {"username": USER, "password": PASSWORD}
    with httpx2.Client(base_url=served.url) as made:
        token = made.post("/v1/login/access-token", data=form).json()["access_token"]
        made.headers["Authorization"] = f"Bearer {token}"
        yield made


def test_the_first_admin_gets_a_link_once(served: Served) -> None:
    assert f"log in as the admin, once, within 15 minutes: {served.url}/login/link?token=mcl_" in served.text


def test_it_states_what_users_can_do_to_each_other(served: Served) -> None:
    assert (
        "a user's job can read and change what another user's job writes, cancel it, and submit"
        in served.text
    )


def test_its_directory_is_its_users_alone(served: Served) -> None:
    assert served.state.stat().st_mode & 0o777 == 0o700
    assert [
        each.name for each in served.state.iterdir() if each.stat().st_mode & 0o077 and each.name != "lock"
    ] == []


def test_pages_of_other_names_are_refused(served: Served) -> None:
    answer = httpx2.get(f"{served.url}/v1/nodes", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "This service is not called 'evil.example'" in answer.json()["detail"]


def test_jobs_get_nothing_of_the_services_environment(served: Served, client: httpx2.Client) -> None:
    job = client.post("/v1/jobs/submit", params={"command": "env"}).json()["id"]
    until(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "INACTIVE", "the job's end")
    lines = "".join(client.get(f"/v1/jobs/{job}/output").json()["Output"])
    assert "MINICLUSTER_RUNTIME_DIR" not in lines
    assert f"HOME={os.environ['HOME']}\n" in lines


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--listen", "10.0.0.1:1"), "--listen 10.0.0.1:1 is reached from other machines"),
        (("--listen", "x"), "x: needed is ADDRESS:PORT"),
        (("--pam", "absent"), "--pam absent: there is no file /etc/pam.d/absent"),
        (("--oidc-client-id", "mc"), "give --oidc-issuer and --oidc-client-secret-file as well"),
        (("--state", "/proc/none"), "state directory /proc/none: "),
    ],
)
def test_wrong_calls_are_explained(served: Served, options: tuple[str, ...], message: str) -> None:
    done = served.machine.call("serve", *options, stdin=None)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_named(served: Served, tmp_path: object) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        done = served.machine.call("serve", "--listen", listen, "--state", f"{tmp_path}/s", stdin=None)
    assert (
        done.stderr
        == f"minicluster: --listen {listen}: the port is taken; name another one, or 0 for a free one\n"
    )


def test_a_second_service_does_not_use_the_same_directory(served: Served) -> None:
    options = ("--listen", "127.0.0.1:0", "--state", str(served.state))
    done = served.machine.call("serve", *options, stdin=None)
    assert "another `minicluster serve` works with it" in done.stderr


def test_at_its_end_streams_end_and_the_cluster_stays(served: Served, client: httpx2.Client) -> None:
    """The last test of this file: the service is gone behind it."""
    job = client.post("/v1/jobs/submit", params={"command": "sh -c 'echo begun; sleep 600'"}).json()["id"]
    parts: list[str] = []
    begun = threading.Event()

    def follow() -> None:
        with client.stream("GET", f"/v1/jobs/{job}/output/stream", timeout=100) as answer:
            for text in answer.iter_text():
                parts.append(text)
                begun.set()

    thread = threading.Thread(target=follow)
    thread.start()
    assert begun.wait(60)
    start = time.monotonic()
    assert served.end() == 0
    assert time.monotonic() - start < 30
    thread.join(10)
    assert "".join(parts) == "begun\n"
    assert "cluster mc stays up, with its jobs: `minicluster down mc` ends it" in served.text
    assert [row["name"] for row in served.machine.rows("list")] == ["mc"]
