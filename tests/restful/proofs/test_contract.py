"""The routes and their document agree, as far as a few cases a route show it."""

from tests.restful.proofs import contract


def test_schemathesis_finds_nothing() -> None:
    done = contract.run(contract.SHORT)
    assert "No issues found" in done.stdout, done.stdout[-5000:] + done.stderr
    assert done.returncode == 0
