"""Take each check of who may do what out of the service, one at a time: the matrix must notice each.

  python -m tests.restful.proofs.owner_checks          all of them
  python -m tests.restful.proofs.owner_checks usage    those whose file or text has a word in it
  python -m tests.restful.proofs.owner_checks --sample three of them

Prints a table, and ends with 1 where one was not noticed.
"""

from __future__ import annotations

import asyncio
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.restful.proofs.owner_check_list import MUTANTS, SCENARIOS, Mutant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

ROOT = Path(__file__).resolve().parents[3]
PRELOADED = (
    *("fastapi", "sqlalchemy.ext.asyncio", "aiosqlite", "alembic.script", "joserfc.jwt", "argon2", "jinja2"),
    *("httpx2", "cryptography.hazmat.primitives.ciphers.aead", "pydantic", "python_multipart", "jsonschema"),
)
"""What takes long to import, once for all children."""
SAMPLE = {
    ("jobs/visibility.py", 'if job is not None and not job.own and f"{scope}:all" not in scopes:'),
    ("store/tokens.py", "(TOKENS.c.id == token, TOKENS.c.user == user, TOKENS"),
    ("routes/nodes.py", 'requires("nodes:drain")'),
}
"""What continuous integration tries: of a job, of a credential, and of a route."""
STREAM_SECONDS = 30.0
"""A stream that goes on for so long is one that does not end; with the check it ends in milliseconds."""
UNCHECKED = """

def _unchecked(access, name):
    from restful.errors import HttpProblem
    from restful.identity.scopes import SCOPES

    found = access._clusters.get(name)
    if found is None:
        raise HttpProblem("not-found", f"there is no cluster {name[:100]!r}")
    return found, SCOPES


async def _of_anybody(parts, principal, name, text, scope):
    cluster, _ = await parts.access.cluster(principal, name, scope)
    return await parts.visibility.any_job(principal, cluster, text)
"""
"""What the list of checks puts in their place."""
MAX_REPORT = 2000
"""Characters of what a child reports."""


class Trial(NamedTuple):
    """What became of the service without a check."""

    noticed: bool
    how: str


class MutantError(Exception):
    """The text of a check is not there once."""


def mutated(mutant: Mutant) -> str:
    """Return a module's text without a check. Raises MutantError."""
    text = (ROOT / "restful" / mutant.file).read_text()
    if text.count(mutant.text) != 1:
        raise MutantError(f"restful/{mutant.file} has {text.count(mutant.text)} times: {mutant.text}")
    return text.replace(mutant.text, mutant.without) + UNCHECKED


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        """Return the code without the check."""
        return compile(self._text, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._path = str(ROOT / "restful" / mutant.file)
        self._name = f"restful.{mutant.file.removesuffix('.py').replace('/', '.')}"
        self._text = mutated(mutant)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module without the check, if it is that one."""
        if fullname != self._name:
            return None
        return importlib.util.spec_from_loader(fullname, _Loader(fullname, self._path, self._text))


def tried(mutant: Mutant) -> Trial:
    """Run the matrix in a child of this process, up to the first mismatch."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            sys.meta_path.insert(0, _Finder(mutant))
            how = _first_mismatch(mutant.routes)
        except MutantError as error:
            how = f"!{error}"
        except BaseException:  # noqa: BLE001 - the parent has to know
            how = f"!{traceback.format_exc()[-MAX_REPORT:]}"
        os.write(writer, how.encode()[:MAX_REPORT])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        how = answer.read().decode(errors="replace")
    os.waitpid(child, 0)
    return Trial(bool(how) and not how.startswith("!"), how)


def _first_mismatch(routes: str) -> str:
    from restful.clusters.spec import Tenancy  # noqa: PLC0415 - the child imports it, without the check
    from tests.restful.authorization import scenarios  # noqa: PLC0415
    from tests.restful.authorization.expectations import of_clusters  # noqa: PLC0415
    from tests.restful.authorization.matrix import Matrix  # noqa: PLC0415
    from tests.restful.authorization.routes import ROWS  # noqa: PLC0415
    from tests.restful.authorization.service import opened  # noqa: PLC0415

    first = [key for key in ROWS if routes and routes in key[1]]

    async def work(tenancy: Tenancy, keys: list[tuple[str, str]]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            async with opened(Path(folder), tenancy) as here:
                async for each in Matrix(here, tenancy).mismatches(keys):
                    return each
                if tenancy is Tenancy.SHARED:
                    async for each in scenarios.mismatches(here, STREAM_SECONDS):
                        return each
        return ""

    if routes == SCENARIOS and (found := asyncio.run(work(Tenancy.SHARED, []))):
        return found
    rest = [key for key in ROWS if key not in first]
    for tenancy, keys in (
        (Tenancy.SHARED, first),
        (Tenancy.OWN, first),
        (Tenancy.SHARED, rest),
        (Tenancy.OWN, rest),
    ):
        chosen = [key for key in keys if tenancy is Tenancy.SHARED or of_clusters(ROWS[key].kind)]
        if chosen and (found := asyncio.run(work(tenancy, chosen))):
            return found
    return ""


def report(mutants: Sequence[Mutant]) -> int:
    """Print what became of each, and return how many were not noticed."""
    for name in PRELOADED:
        importlib.import_module(name)
    missed = 0
    for number, mutant in enumerate(mutants, 1):
        trial = tried(mutant)
        missed += not trial.noticed
        first = " ".join(trial.how.split())[:100] if trial.noticed else trial.how or "nothing noticed it"
        check = " ".join(mutant.text.split())[:90]
        print(
            f"{number:3} {'noticed' if trial.noticed else 'MISSED '} {mutant.file:32} {check}\n      {first}",
            flush=True,
        )
    print(f"{len(mutants) - missed} of {len(mutants)} checks are missed where they are taken out")
    return missed


def main(words: Sequence[str]) -> int:
    """Run; return the exit code."""
    chosen = [each for each in MUTANTS if all(word in each.file or word in each.text for word in words)]
    if words == ["--sample"]:
        chosen = [each for each in MUTANTS if (each.file, each.text) in SAMPLE]
    return 1 if not chosen or report(chosen) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
