"""The pages of jobs in a browser: with scripts and without, live, and with a connection that is lost."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.restful.browser.tabs import hide, log_in, shown_lines, violations_of

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import APIResponse, Page, Route

    from restful.store.users import UserRecord
    from tests.restful.browser.service import BrowserService
    from tests.restful.browser.tabs import Tabs

HOSTILE = "<img src=x onerror=alert(1)>"
UNTIL = 'while ! test -e "$0"; do sleep .02; done'
"""A job's wait for a file."""
SEND_AGAIN = """async (form) => {
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  return (await fetch("/jobs/new", { method: "POST", headers, body: form })).url;
}"""
"""Sends the form of a job as it was sent, and returns where that leads."""
PATHS = ("/jobs", "/jobs?owner=*", "/jobs/new", "/account", "/device")
THEMES = {"light": (), "dark": ("color-contrast",)}
"""The rules by which pages are looked at: all, and then what is different."""


def status(tab: Page) -> object:
    return expect(tab.locator("#stream-status"))


def test_a_user_logs_in_submits_and_sees_the_output_as_it_comes(
    tabs: Tabs, service: BrowserService, alice: UserRecord, tmp_path: Path
) -> None:
    tab = tabs.open()
    expect(tab).to_have_url(re.compile(r"/login\?next="))
    log_in(tab, "alice")
    tab.get_by_role("link", name="Submit a job").click()
    gate = tmp_path / "gate"
    tab.get_by_label("Command").fill(f"sh -c 'echo one; {UNTIL}; echo two >&2; exit 3' {gate}")
    tab.get_by_label("Name", exact=True).fill("first")
    tab.get_by_role("button", name="Submit").click()
    expect(tab).to_have_url(re.compile(r"/jobs/mc/f"))
    expect(tab.locator("#lines .stdout")).to_have_text(["one"])
    expect(tab.locator("#status .state")).to_have_text("running")
    gate.touch()
    expect(tab.locator("#lines .stderr")).to_have_text(["two"])
    status(tab).to_have_text("The job has ended: failed, exit code 3.")
    expect(tab.locator("#status .state")).to_have_text("failed")
    expect(tab.locator("#actions")).to_be_hidden()
    expect(tab.locator("#events")).to_contain_text("exit code 3")
    service.await_streams(0)


def test_a_lost_connection_costs_no_line_and_doubles_none(
    tabs: Tabs, service: BrowserService, alice: UserRecord, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    loop = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $i; [ $i -ne 30 ] || " + UNTIL + "; done"
    job = service.submit(alice, "sh", "-c", loop, str(gate))
    service.proxy.limits = [333, 512, 641]  # bytes, with some 150 of each answer's head
    tab = tabs.open(alice, job.path)
    expect(tab.locator("#lines .line")).to_have_count(30)
    assert service.proxy.limits == []
    tab.context.set_offline(True)
    service.run(service.proxy.cut())
    status(tab).to_have_text("The connection was lost. It is tried again.")
    gate.touch()
    job.await_end()
    tab.context.set_offline(False)
    status(tab).to_have_text("The job has ended: completed, exit code 0.")
    assert shown_lines(tab) == [f"line {number}" for number in range(1, 61)]


def test_what_may_be_done_is_asked_for_again_where_it_came_late(
    tabs: Tabs, service: BrowserService, alice: UserRecord, tmp_path: Path
) -> None:
    """A job begins, and has ended when the answer comes that had been asked for meanwhile."""
    gate = tmp_path / "gate"
    job = service.submit(alice, "sh", "-c", UNTIL, str(gate), urgency=0)
    late: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if late or route.request.headers.get("hx-target") != "actions":
            route.continue_()
        else:
            late.append((route, route.fetch()))

    tab = tabs.open(alice, job.path)
    expect(tab.locator("#status .state")).to_have_text("on hold")
    tab.route(f"**{job.path}", hold)
    service.run(service.page.services.jobs.urgency(job.principal, "mc", job.plain, 16))
    expect(tab.locator("#status .state")).to_have_text("running")
    gate.touch()
    expect(tab.locator("#status .state")).to_have_text("completed")
    expect(tab.locator("#actions")).to_be_visible()
    [(route, answer)] = late
    route.fulfill(response=answer)
    expect(tab.locator("#actions")).to_be_hidden()


def stdout(number: int | None = None, **data: object) -> str:
    """Return an event of output; one that ends an entry has its number."""
    end = "" if number is None else f"id: {number}\n"
    return f"event: stdout\ndata: {json.dumps({'task': 0, **data})}\n{end}\n"


def test_an_entry_that_was_cut_is_shown_once(tabs: Tabs, service: BrowserService, alice: UserRecord) -> None:
    """A character that was cut between two chunks is shown as well."""
    end = 'event: end\ndata: {"state":"inactive","result":"completed","returncode":0}\nid: end\n\n'
    answers = [
        "retry: 10\n\n" + stdout(text="a\n"),
        stdout(text="a\n") + stdout(0, text="b\n") + stdout(text="c\n"),
        stdout(text="c\n") + stdout(1, base64="w6nD") + stdout(2, base64="qQo=") + end,
    ]

    def answer(route: Route) -> None:
        route.fulfill(content_type="text/event-stream", body=answers.pop(0))

    job = service.submit(alice, "true")
    tab = tabs.open(alice, "/account")
    tab.route("**/output?*", answer)
    tab.goto(job.path)
    status(tab).to_have_text("The job has ended: completed, exit code 0.")
    assert shown_lines(tab) == ["a", "b", "c", "éé"]
    assert answers == []


def test_output_that_is_gone_is_not_asked_for_again(
    tabs: Tabs, service: BrowserService, alice: UserRecord
) -> None:
    job = service.submit(alice, "true")
    tab = tabs.open(alice, "/account")
    tab.route("**/output?*", lambda route: route.fulfill(status=410))
    tab.goto(job.path)
    status(tab).to_have_text("The output went with the instance that ran the job.")
    expect(tab.get_by_role("button", name="Stop following")).to_be_hidden()


def test_a_list_is_live_and_chosen_jobs_are_cancelled(
    tabs: Tabs, service: BrowserService, alice: UserRecord
) -> None:
    tab = tabs.open(alice, "/jobs?name=live-*")
    expect(tab.locator("#connection")).to_have_text("The list is live.")
    assert tab.locator("tbody tr").count() == 0
    jobs = [service.submit(alice, "sleep", "60", name=f"live-{number}") for number in range(3)]
    rows = tab.locator("tbody tr")
    expect(rows).to_have_count(3)
    tab.get_by_label(f"Choose {jobs[0].id}").check()
    service.submit(alice, "true", name="live-3")
    expect(rows.filter(has_text="live-3")).to_contain_text("completed")
    expect(tab.get_by_label(f"Choose {jobs[0].id}")).to_be_checked()
    tab.get_by_label(f"Choose {jobs[1].id}").check()
    tab.once("dialog", lambda dialog: dialog.dismiss())
    tab.get_by_role("button", name="Cancel the chosen ones").click()
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Cancel the chosen ones").click()
    expect(tab.locator(".notice")).to_have_text("2 jobs are being canceled.")
    expect(rows.filter(has_text="canceled")).to_have_count(2)
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name=f"Cancel {jobs[2].id}").click()
    expect(rows.filter(has_text="canceled")).to_have_count(3)


def test_a_job_is_acted_on_from_its_page(tabs: Tabs, service: BrowserService, alice: UserRecord) -> None:
    job = service.submit(
        alice, "sh", "-c", "trap 'echo caught' USR1; echo ready; while :; do sleep .05; done"
    )
    tab = tabs.open(alice, job.path)
    expect(tab.locator("#lines")).to_contain_text("ready")
    tab.get_by_label("Signal").select_option("USR1")
    tab.get_by_role("button", name="Send").click()
    expect(tab.locator("#lines")).to_contain_text("caught")
    tab.get_by_role("button", name="Stop following").click()
    status(tab).to_have_text("Stopped: nothing new is shown.")
    service.await_streams(0)
    tab.get_by_role("button", name="Follow again").click()
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.locator("#status .state")).to_have_text("canceled")
    expect(tab.locator("#stream-status")).to_contain_text("The job has ended: canceled")


def test_a_waiting_job_has_its_reason_and_its_urgency(
    tabs: Tabs, service: BrowserService, alice: UserRecord
) -> None:
    job = service.submit(alice, "true", urgency=0)
    tab = tabs.open(alice, job.path)
    expect(tab.locator("#status .state")).to_have_text("on hold")
    expect(tab.locator("#status")).to_contain_text("It waits:")
    tab.get_by_label("Urgency").fill("17")
    tab.get_by_role("button", name="Set").click()
    expect(tab.get_by_role("alert")).to_contain_text("An urgency above 16 needs the scope jobs:urgency.")
    tab.get_by_label("Urgency").fill("16")
    tab.get_by_role("button", name="Set").click()
    expect(tab.locator("#status .state")).to_have_text("completed")


def test_what_a_job_writes_and_is_called_is_text(
    tabs: Tabs, service: BrowserService, alice: UserRecord
) -> None:
    script = f"printf '%s\\n' '{HOSTILE}'; printf 'a\\377b\\n'; printf '\\303'; sleep .1; printf '\\251\\n'"
    job = service.submit(alice, "sh", "-c", script, name=HOSTILE)
    tab = tabs.open(alice, job.path)
    status(tab).to_have_text("The job has ended: completed, exit code 0.")
    assert shown_lines(tab) == [HOSTILE, "a\ufffdb", "é"]
    expect(tab.get_by_role("heading", level=1)).to_contain_text(HOSTILE)
    tab.goto("/jobs")
    expect(tab.get_by_role("link", name=HOSTILE).first).to_be_visible()
    assert tab.locator("img").count() == 0


def test_a_browser_keeps_the_last_lines(tabs: Tabs, service: BrowserService, alice: UserRecord) -> None:
    job = service.submit(alice, "seq", "1", "7000")
    tab = tabs.open(alice, job.path)
    expect(tab.locator("#stream-status")).to_contain_text(
        "The last 5000 lines are shown; the links have all."
    )
    lines = shown_lines(tab)
    assert (len(lines), lines[0], lines[-1]) == (5000, "2001", "7000")
    with tab.expect_download() as saved:
        tab.get_by_role("link", name="Save as a file").click()
    assert saved.value.path().read_text().split() == [str(number) for number in range(1, 7001)]
    assert saved.value.suggested_filename == f"{job.plain}.txt"


def test_one_stream_a_tab_and_none_in_a_hidden_one(
    tabs: Tabs, service: BrowserService, alice: UserRecord
) -> None:
    job = service.submit(alice, "sleep", "60")
    for path in ("/jobs", job.path):
        tab = tabs.open(alice, path)
        service.await_streams(1)
        hide(tab, hidden=True)
        service.await_streams(0)
        hide(tab, hidden=False)
        service.await_streams(1)
        tab.close()
        service.await_streams(0)


def test_a_tab_that_is_opened_behind_others_has_no_stream(
    tabs: Tabs, service: BrowserService, alice: UserRecord
) -> None:
    job = service.submit(alice, "sleep", "60")
    tab = tabs.open(alice, "/account")
    tab.context.add_init_script(
        'Object.defineProperty(document, "hidden", { configurable: true, value: true })'
    )
    tab.goto("/jobs")
    expect(tab.locator("#connection")).to_have_text("The list is live.")  # it was, for a moment
    service.await_streams(0)
    tab.goto(job.path)
    status(tab).to_have_text("Connecting …")
    service.await_streams(0)
    hide(tab, hidden=False)
    service.await_streams(1)


def test_a_job_is_submitted_once_and_mistakes_are_beside_their_fields(
    tabs: Tabs, service: BrowserService, alice: UserRecord
) -> None:
    tab = tabs.open(alice, "/jobs/new")
    tab.get_by_label("Command").fill("true")
    tab.get_by_label("Name", exact=True).fill("only-once")
    tab.get_by_label("Tasks", exact=True).fill("many")
    tab.get_by_text("More: script").click()
    tab.get_by_label("Environment").fill("NOVALUE")
    tab.get_by_role("button", name="Submit").click()
    expect(tab.locator("#field-environment-error")).to_have_text("'NOVALUE' has no =")
    tab.get_by_label("Environment").fill("A=1")
    tab.get_by_role("button", name="Submit").click()
    expect(tab.locator("#field-tasks-error")).to_contain_text("valid integer")
    tab.get_by_label("Tasks", exact=True).fill("900")
    tab.get_by_role("button", name="Only check").click()
    expect(tab.get_by_role("status")).to_contain_text("The cluster could never run this job as it is")
    tab.get_by_label("Tasks", exact=True).fill("2")
    with tab.expect_request(lambda request: request.method == "POST") as sent:
        tab.get_by_role("button", name="Submit").dblclick()
    expect(tab).to_have_url(re.compile(r"/jobs/mc/f"))
    expect(tab.locator("#status")).to_contain_text("2 tasks")
    assert tab.evaluate(SEND_AGAIN, sent.value.post_data) == tab.url
    tab.goto("/jobs?name=only-once")
    expect(tab.locator("tbody tr")).to_have_count(1)


def test_everything_works_without_scripts(tabs: Tabs, service: BrowserService, alice: UserRecord) -> None:
    tab = tabs.open(path="/jobs", java_script_enabled=False)
    log_in(tab, "alice")
    tab.goto("/jobs/new")
    tab.get_by_label("Command").fill("sh -c 'echo plain; sleep 60'")
    tab.get_by_label("Name", exact=True).fill("no-script")
    tab.get_by_role("button", name="Submit").click()
    expect(tab.locator("#status .state")).to_be_visible()
    tab.goto("/jobs")
    tab.get_by_label("Name", exact=True).fill("no-*")
    tab.get_by_role("button", name="Filter").click()
    row = tab.locator("tbody tr")
    expect(row).to_have_count(1)
    row.get_by_role("button", name="Cancel").click()
    expect(tab.locator(".notice")).to_have_text("1 job is being canceled.")
    tab.get_by_role("link", name="no-script").click()
    tab.get_by_role("link", name="As text").click()
    expect(tab.locator("body")).to_have_text("plain")


@pytest.mark.parametrize("theme", THEMES)
def test_pages_are_accessible(tabs: Tabs, service: BrowserService, olga: UserRecord, theme: str) -> None:
    job = service.submit(olga, "sh", "-c", "echo out; echo err >&2; false", tasks=2, name="shown")
    service.submit(olga, "true", urgency=0, name="waits")
    tab = tabs.open(None, "/login", color_scheme=theme)
    found = {"/login": violations_of(tab, *THEMES[theme])}
    tab = tabs.open(olga, "/jobs", color_scheme=theme)
    for path in (*PATHS, job.path):
        tab.goto(path)
        if path == job.path:
            expect(tab.locator("#stream-status")).to_contain_text("has ended")
        found[path] = violations_of(tab, *THEMES[theme])
    tab.goto("/jobs/new")
    tab.get_by_role("button", name="Submit").click()
    found["refused"] = violations_of(tab, *THEMES[theme])
    assert {path: each for path, each in found.items() if each} == {}


def test_a_theme_that_is_chosen_stays(tabs: Tabs, alice: UserRecord) -> None:
    tab = tabs.open(alice, "/account", color_scheme="light")
    for theme in ("light", "dark"):
        tab.get_by_role("button", name="Theme").click()
        expect(tab.get_by_role("button", name=f"Theme: {theme}")).to_be_visible()
    tab.goto("/jobs")
    expect(tab.locator("body")).to_have_css("background-color", "rgb(20, 23, 27)")


def test_pages_fit_a_phone(tabs: Tabs, service: BrowserService, olga: UserRecord) -> None:
    job = service.submit(olga, "sh", "-c", "echo " + "x" * 300, name="n" * 60)
    job.await_end()
    tab = tabs.open(olga, "/jobs", viewport={"width": 360, "height": 740})
    for path in (*PATHS, job.path, "/login"):
        tab.goto(path)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, path
