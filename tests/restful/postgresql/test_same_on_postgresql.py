"""What other files try over SQLite holds over PostgreSQL: the same tests, with the fixture beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.restful.clusters import test_registry
from tests.restful.identity import (
    test_authority,
    test_keys,
    test_logins,
    test_token_answers,
    test_web_sessions,
)
from tests.restful.jobs import test_life, test_owners
from tests.restful.routes import test_audit_log, test_jobs, test_users

if TYPE_CHECKING:
    from types import ModuleType

MODULES: tuple[ModuleType, ...] = (
    *(test_authority, test_keys, test_logins, test_token_answers, test_web_sessions),
    *(test_audit_log, test_users, test_jobs, test_life, test_owners, test_registry),
)
for module in MODULES:
    where = module.__name__.rpartition(".")[2]
    for name, value in vars(module).items():
        if name.startswith("test_") and callable(value):
            globals()[f"{where}_{name.removeprefix('test_')}"] = value
