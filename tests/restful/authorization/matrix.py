"""Every route, asked by everybody about everything: what differs from the table of expectations."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from restful.identity import cookies
from restful.store import users
from tests.restful.authorization.expectations import expected, is_as_admin
from tests.restful.authorization.objects import OBJECTS, Objects, Whose
from tests.restful.authorization.requests import Answer, Sent
from tests.restful.authorization.routes import PASSWORD, ROWS, Key, Kind, Row
from tests.restful.authorization.service import CLOSED
from tests.restful.authorization.users import ADMINS, OTHER, USER_OF, Asker, Shown, shown_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from restful.clusters.spec import Tenancy
    from tests.restful.authorization.service import Everything

OURS = {"sec-fetch-site": "same-origin", "origin": "null"}
ENDS_LOGINS = {
    *(Kind.SELF_TOKENS, Kind.SELF_LOGIN, Kind.OWN_CREDENTIAL),
    *(Kind.PAGE_FORM, Kind.PAGE_CREDENTIAL),
}
"""Behind a request of these everybody shows something new."""
TICKS = (Kind.PAGE_STREAM, Kind.PAGE_OTHERS_STREAM)
"""Their events have nothing of a job, and the first one is long in coming."""
OTHERS = (
    f"-of-{OTHER}".encode(),  # in the names of all that the other user has
    f'"name":"{CLOSED}"'.encode(),  # his cluster, on routes and on the page
    f'value="{CLOSED}"'.encode(),
    b'"all":{"pending"',  # the numbers of everybody's jobs
)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_KEY_OF_FORM = re.compile(rb'name="key" value="[^"]*"')


@dataclass(frozen=True, slots=True)
class Case:
    """One request of the matrix."""

    key: Key
    asker: Asker
    whose: Whose

    def __str__(self) -> str:
        return f"{' '.join(self.key)}, {self.asker}, {self.whose}"


@dataclass
class Matrix:
    """Asks, and compares."""

    here: Everything
    tenancy: Tenancy
    observe: Callable[[Case, Sent, Answer], None] = lambda _case, _sent, _answer: None
    askers: Sequence[Asker] = tuple(Asker)
    shown: dict[Asker, Shown] = field(default_factory=dict)
    asked: int = 0

    def __post_init__(self) -> None:
        self.objects = Objects(self.here, self.tenancy)

    async def mismatches(self, keys: Iterable[Key] = tuple(ROWS)) -> AsyncIterator[str]:
        """Yield what is not as expected, in a sentence each."""
        for key in keys:
            for asker in self.askers:
                if is_as_admin(ROWS[key].kind, asker):
                    continue
                async for each in self._of(key, asker):
                    yield each

    async def _of(self, key: Key, asker: Asker) -> AsyncIterator[str]:
        row = ROWS[key]
        wanted = expected(self.tenancy, row.kind, asker)
        objects = placeholders(key, row) & OBJECTS
        answers: dict[Whose, tuple[str, Any]] = {}
        for whose, want in zip(Whose, wanted, strict=True):
            if whose is not Whose.OWN and not objects:
                break
            case = Case(key, asker, whose)
            answer, given = await self._asked(case, row)
            found = effective(row.kind, answer)
            if not fits(want, found):
                yield f"{case}: {found} in place of {want}: {answer.body[:200]!r}"
            elif shows_others(self.here.users[OTHER].id.encode(), row.kind, asker, answer):
                yield f"{case}: shows what is somebody else's: {answer.body[:2000]!r}"
            elif want not in {"ok", "any"}:
                answers[whose] = (want, comparable(answer, given))
        for each in differing(answers):
            yield f"{' '.join(key)}, {asker}: {each}"

    async def _asked(self, case: Case, row: Row) -> tuple[Answer, dict[str, str]]:
        user = USER_OF[case.asker]
        await prepare(self.here, case.key, user)
        if case.asker not in self.shown:
            self.shown[case.asker] = await shown_by(self.here.identities, case.asker, self.here.users[user])
        names = placeholders(case.key, row)
        given = await self.objects.chosen(names, user, case.whose)
        sent = request(case, row, given, self.shown[case.asker])
        answer = await self.here.ask(sent)
        self.asked += 1
        self.observe(case, sent, answer)
        if answer.status < 400:
            self.objects.kept.clear()
        if row.kind in ENDS_LOGINS and answer.status < 400:
            self.shown = {each: shown for each, shown in self.shown.items() if USER_OF[each] != user}
        return answer, given


def placeholders(key: Key, row: Row) -> frozenset[str]:
    """Return the names in braces in a route and its request."""
    return frozenset(_PLACEHOLDER.findall(" ".join(map(str, (key[1], row.body, row.form, row.query)))))


def filled(value: Any, given: dict[str, str]) -> Any:
    """Return texts with the values of placeholders."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: given.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {name: filled(each, given) for name, each in value.items()}
    return [filled(each, given) for each in value] if isinstance(value, list) else value


def request(case: Case, row: Row, given: dict[str, str], shown: Shown) -> Sent:
    """Return a request with what an asker shows where it is due, and for MIXED where it is not."""
    headers, form = dict(row.headers), filled(row.form, given)
    if row.kind.startswith("page") is (case.asker is not Asker.MIXED):
        headers |= {"cookie": f"{cookies.policy('https://x').name}={shown.cookie}"} if shown.cookie else {}
    elif shown.bearer:
        headers["authorization"] = f"Bearer {shown.bearer}"
    if row.kind.startswith("page"):
        headers = {**OURS, **headers}
        form = form if form is None else {"csrf": shown.csrf, **form}
    method, path = case.key[0], case.key[1].partition("#")[0]
    query = filled(dict(row.query), given)
    body, events = filled(row.body, given), 0 if row.kind in TICKS else 1
    return Sent(method, filled(path, given), headers, query, body, form, events=events)


async def prepare(here: Everything, key: Key, user: str) -> None:
    """Have a user have a password where it is changed, and none where the first one is set."""
    if key not in {("PATCH", "/v2/me/password"), ("POST", "/password")}:
        return
    hashed = await here.identities.passwords.hash(PASSWORD) if key[0] == "PATCH" else None
    async with here.identities.change() as connection:
        await users.change(connection, here.users[user].id, {"password": hashed}, end=False)


def effective(kind: Kind, answer: Answer) -> str:
    """Return what an answer is: `ok`, `nil`, or a status."""
    status = answer.status
    if kind is Kind.BULK and status == 207:
        status = answer.json()["results"][0]["status"]
    if kind in {Kind.V1_READ, Kind.NAMED_READ} and status == 200:
        return "nil" if answer.body == b"null" or b"does not exist yet" in answer.body else "ok"
    if kind is Kind.PAGE_SUBMIT and status == 200:
        return "nil"  # the page without a form: there is no cluster
    if kind is Kind.PAGE_BULK and "cancelled=0" in answer.headers.get("location", ""):
        return "nil"
    if status == 303 and not answer.headers["location"].startswith("/login?"):
        return "ok"
    return "ok" if status < 300 else str(status)


def shows_others(other: bytes, kind: Kind, asker: Asker, answer: Answer) -> bool:
    """Return whether an answer has something of the other user, whose id it is, or of everybody."""
    if asker in {Asker.OPERATOR, *ADMINS} and kind is not Kind.CLUSTER_STREAM:
        return False
    return any(each in answer.body for each in (other, *OTHERS))


def fits(want: str, found: str) -> bool:
    """Return whether an answer is the expected one."""
    return want == found or (want == "any" and not found.startswith("5"))


def comparable(answer: Answer, given: dict[str, str]) -> Any:
    """Return an answer without what the asker himself has given."""
    text = _KEY_OF_FORM.sub(b"", answer.body)
    location = answer.headers.get("location", "")
    for name, value in sorted(given.items()):
        text = text.replace(value.encode(), name.encode())
        location = location.replace(quote(value, safe=""), name)
    return answer.status, sorted({**answer.headers, "location": location}.items()), text


def differing(answers: dict[Whose, tuple[str, Any]]) -> Iterable[str]:
    """Yield where answers are told apart that must be the same."""
    for one, other in ((Whose.OWN, Whose.OTHER), (Whose.OTHER, Whose.ABSENT)):
        if one in answers and other in answers:
            (want, first), (same, second) = answers[one], answers[other]
            if want == same and first != second:
                yield f"{one} and {other} differ: {first} and {second}"
