"""What a request may do: never more than its token, its user's role and his grants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity import scopes
from restful.identity.principal import Role
from restful.identity.scopes import GrantRole

SETS = st.frozensets(st.sampled_from(sorted(scopes.SCOPES)))
ROLES = st.sampled_from(Role)
GRANTS = st.one_of(st.none(), st.sampled_from(GrantRole))


@given(SETS, ROLES, GRANTS)
def test_nothing_is_added(token: frozenset[str], role: Role, grant: GrantRole | None) -> None:
    here = scopes.effective(token, role)
    there = scopes.at_cluster(here, role, grant)
    assert there <= here <= token & scopes.BY_ROLE[role]


@given(SETS, SETS, ROLES, GRANTS)
def test_a_larger_token_allows_no_less(
    one: frozenset[str], other: frozenset[str], role: Role, grant: GrantRole | None
) -> None:
    smaller = scopes.at_cluster(scopes.effective(one & other, role), role, grant)
    assert smaller <= scopes.at_cluster(scopes.effective(one, role), role, grant)


def test_each_role_may_do_what_the_one_before_it_may() -> None:
    found = [scopes.BY_ROLE[role] for role in Role]
    assert found[0] < found[1] < found[2] == scopes.SCOPES


@pytest.mark.parametrize(
    ("role", "grant", "expected"),
    [
        pytest.param(Role.USER, None, "", id="no grant"),
        pytest.param(Role.OPERATOR, None, "", id="no grant for an operator"),
        pytest.param(Role.USER, GrantRole.USE, "jobs:read", id="a user"),
        pytest.param(Role.USER, GrantRole.OPERATE, "jobs:read", id="the role is a bound"),
        pytest.param(Role.OPERATOR, GrantRole.USE, "jobs:read", id="the grant is a bound"),
        pytest.param(Role.OPERATOR, GrantRole.OPERATE, "jobs:read jobs:read:all", id="an operator"),
        pytest.param(Role.ADMIN, None, "jobs:read jobs:read:all", id="an admin needs no grant"),
    ],
)
def test_what_a_token_is_good_for_at_a_cluster(role: Role, grant: GrantRole | None, expected: str) -> None:
    token = frozenset({"jobs:read", "jobs:read:all", "tokens", "users:read"})
    found = scopes.at_cluster(scopes.effective(token, role), role, grant)
    assert scopes.write(found) == expected


@given(SETS)
def test_scopes_are_written_and_parsed(found: frozenset[str]) -> None:
    assert scopes.parse(scopes.write(found)) == found


def test_an_unknown_scope_is_named_and_cut() -> None:
    with pytest.raises(ValueError, match=r"unknown scopes: 'jobs:rread', 'x{40}'; there are: audit:read"):
        scopes.parse(f"jobs:read jobs:rread {'x' * 1000}")


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param([GrantRole.USE], GrantRole.USE, id="one"),
        pytest.param([GrantRole.USE, GrantRole.OPERATE], GrantRole.OPERATE, id="two"),
    ],
)
def test_the_stronger_grant_counts(granted: list[GrantRole], expected: GrantRole | None) -> None:
    assert scopes.stronger(granted) == expected
