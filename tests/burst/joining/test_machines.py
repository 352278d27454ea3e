"""What machines that are no pods get as metadata: whole, small enough, and without a secret that lasts."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import subprocess
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import CallInvalid
from burst.joining import machine_boot
from burst.joining.machine_boot import (
    BootTask,
    MachineBootError,
    end_processes,
    number_of,
    refusal_of,
    write_files,
)
from burst.joining.machines import (
    MAX_VALUE_BYTES,
    STARTUP_SCRIPT,
    TOKEN_SECONDS,
    MachineSettings,
    boot_metadata,
    console_problem,
    machine_name,
)
from burst.joining.records import LeadRoute, MachineRoute
from burst.providers.provider import WantedBurst
from tests.burst.joining.near import CERTIFICATE, SPEC, join_settings, near

if TYPE_CHECKING:
    from pathlib import Path

    from burst.joining.records import JoinSettings

NOW = 1_800_000_000.0
KEY = "key-of-tokens"
WANTED = WantedBurst(
    "62dgmfw4gk", "here", 2, "c8", spot=False, until=NOW + 3600, cluster="uid", slot="burst-0"
)


def token(label: str, number: int, until: float) -> str:
    return f"{label}.{number}.{until:.0f}.mark"


ROUTE = MachineRoute("192.0.2.7", 30_124, "uid.door.minicluster", "ab" * 32, token)
JOIN = replace(join_settings(), machines=ROUTE)


def made(join: JoinSettings = JOIN, wanted: WantedBurst = WANTED, **settings: Any) -> dict[str, str]:
    return dict(boot_metadata(join, wanted, MachineSettings(**settings), NOW))


def test_it_has_a_follower_and_a_token_for_each_machine() -> None:
    found = made(path=("/opt/flux/bin",))
    assert BootTask(**json.loads(found[machine_boot.TASK])) == BootTask(
        label="62dgmfw4gk",
        slot="burst-0",
        uid=1000,
        gid=1000,
        until=NOW + 3600,
        fence=30,
        leave_after=120,
        path=["/opt/flux/bin"],
        lead={"address": "192.0.2.7", "port": 30_124, "name": ROUTE.name, "fingerprint": "ab" * 32},
    )
    assert found[machine_boot.TOKENS].split() == [
        token("62dgmfw4gk", number, NOW + TOKEN_SECONDS) for number in range(2)
    ]
    texts = json.loads(found[machine_boot.FILES])
    assert set(texts) == {"broker.toml", "R", "start.sh"}
    assert 'connect = "tcp://192.0.2.7:30123"' in texts["broker.toml"]
    packed = base64.b64decode(json.loads(found[machine_boot.ZIPS])["flux_modules.zip"])
    assert "minicluster/fence/flux_command.py" in zipfile.ZipFile(io.BytesIO(packed)).namelist()


def test_it_has_no_certificate_and_fits_what_clouds_take() -> None:
    found = made(wanted=WANTED._replace(nodes=500))
    assert not any(CERTIFICATE in each for each in found.values())
    assert max(len(each) for each in found.values()) < MAX_VALUE_BYTES
    assert sum(len(each) for each in found.values()) < 512 << 10, "of all metadata of an instance"
    assert all(each.replace("-", "").isalnum() for each in found)


def test_tokens_end_with_the_burst() -> None:
    found = made(wanted=WANTED._replace(until=NOW + 60))
    assert found[machine_boot.TOKENS].split()[0].split(".")[2] == f"{NOW + 60:.0f}"


def test_the_script_is_one_that_shells_read() -> None:
    text = made()[STARTUP_SCRIPT]
    done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert text.startswith("#!/bin/sh\n")
    assert "# A machine of burst 62dgmfw4gk" in text


def test_the_lead_s_user_is_the_document_s_or_that_of_the_settings() -> None:
    nobody = replace(JOIN, cluster=near(pod={}))
    assert json.loads(made(nobody, uid=0)[machine_boot.TASK])["uid"] == 0
    context = {
        "containers": [{**SPEC["containers"][0], "securityContext": {"runAsUser": 7, "runAsGroup": 8}}]
    }
    task = json.loads(made(replace(JOIN, cluster=near(**context)))[machine_boot.TASK])
    assert (task["uid"], task["gid"]) == (7, 8)


VOLUMES = {
    "containers": [{**SPEC["containers"][0], "volumes": {"data": {"hostPath": "/data", "path": "/data"}}}]
}


@pytest.mark.parametrize(
    ("join", "wanted", "problem"),
    [
        (
            replace(JOIN, machines=None),
            WANTED,
            (
                "they get its certificate from its lead's API, which is not reached from there: right would"
                " be spec.bursting.expose: nodePort or loadBalancer, in a Kubernetes cluster with an operator"
            ),
        ),
        (
            replace(JOIN, route=LeadRoute("", "", "science", "a=b", 8050)),
            WANTED,
            "spec.bursting.expose: tunnel ends at an API server, and machines have none",
        ),
        (
            replace(JOIN, cluster=near(pod={})),
            WANTED,
            (
                "spec.pod.securityContext.runAsUser is not set, so nobody knows as which user its lead runs:"
                " right would be to set it, or uid in the provider's settings"
            ),
        ),
        (JOIN, WANTED._replace(until=NOW - 5), "burst 62dgmfw4gk was to end 5 s ago"),
    ],
    ids=["api", "tunnel", "user", "late"],
)
def test_what_cannot_be_is_refused_in_words(join: JoinSettings, wanted: WantedBurst, problem: str) -> None:
    with pytest.raises(CallInvalid) as caught:
        made(join, wanted)
    assert str(caught.value) == f"MiniCluster near cannot burst to machines: {problem}"


def test_volumes_of_its_own_cluster_are_refused_unless_the_image_has_them() -> None:
    join = replace(JOIN, cluster=near(**VOLUMES))
    with pytest.raises(CallInvalid, match="volume data is a directory of its own nodes, /data"):
        made(join)
    assert made(join, existing=frozenset({"data"}))[machine_boot.TOKENS]


def test_what_is_too_long_for_metadata_is_refused_with_its_name() -> None:
    with pytest.raises(CallInvalid) as caught:
        made(wanted=WANTED._replace(nodes=9_000))
    assert str(caught.value) == (
        "burst 62dgmfw4gk: minicluster-tokens is 280 KiB of metadata, and 256 is the limit: right would be"
        " fewer nodes, or shorter hooks"
    )


def test_a_console_has_why_a_machine_did_not_join() -> None:
    begin = "Nov 28 15:16:08 vm google_metadata_script_runner[520]: startup-script:"
    lines = ["[    0.0] Linux", f"{begin} minicluster[]: it has the certificate", f"{begin} x"]
    assert console_problem("\n".join(lines)) == "minicluster[]: it has the certificate"
    lines.append(f"{begin} broker.err[5]: cannot connect")
    assert console_problem("\n".join(lines)) == "broker.err[5]: cannot connect"
    assert console_problem("") == ""


@pytest.mark.parametrize(
    ("name", "given", "number"),
    [(machine_name("62dgmfw4gk", 7), None, 7), ("whatever", "12\n", 12)],
)
def test_a_machine_knows_its_number(name: str, given: str | None, number: int) -> None:
    assert number_of(name, "62dgmfw4gk", given) == number


@pytest.mark.parametrize(
    ("name", "given"),
    [("mcb-other-0", None), ("mcb-62dgmfw4gk-", None), ("mcb-62dgmfw4gk-x", None), ("", "-1")],
)
def test_one_without_a_number_is_refused(name: str, given: str | None) -> None:
    with pytest.raises(MachineBootError, match=f"it is called {name}: mcb-62dgmfw4gk-0 and so on are right"):
        number_of(name, "62dgmfw4gk", given)


def test_files_are_for_all_to_read(tmp_path: Path) -> None:
    write_files({"start.sh": "true\n"}, {"a.zip": base64.b64encode(b"\0").decode()}, tmp_path / "etc")
    found = {each.name: each.stat().st_mode & 0o777 for each in (tmp_path / "etc").iterdir()}
    assert found == {"start.sh": 0o555, "a.zip": 0o444}
    assert (tmp_path / "etc" / "a.zip").read_bytes() == b"\0"


@pytest.mark.parametrize(
    ("text", "found"), [('{"error": "no flux"}', "no flux"), ("137\n", ""), ("[]", ""), (None, "")]
)
def test_a_start_script_that_gave_up_is_not_started_again(
    tmp_path: Path, text: str | None, found: str
) -> None:
    if text is not None:
        (tmp_path / "end").write_text(text)
    assert refusal_of(tmp_path / "end") == found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs processes as another user")
def test_of_a_user_no_process_is_left_beside_a_new_broker() -> None:
    nobody_else = 54_321
    with subprocess.Popen(["sleep", "600"], user=nobody_else, start_new_session=True) as process:
        assert end_processes(nobody_else)
        assert process.wait() == -signal.SIGKILL


def test_processes_of_root_are_left_alone() -> None:
    assert not end_processes(0)
