"""Which line of a broker's log is shown as the reason."""

from __future__ import annotations

import pytest

from burst.joining.broker_logs import problem

AGAIN = "minicluster[2]: the broker ended with 1; it is started again in 1 s"
FLUX = """\
<6>broker.info[2]: builtins-success: load-builtins->join 9.74231ms
<3>overlay.err[2]: overlay.hello: Invalid argument
<6>broker.info[2]: parent-fail: join->shutdown 2.3307ms
<2>overlay.crit[2]: mc-0 (rank 0) sent disconnect control message
<3>broker.err[2]: state-machine.monitor: No route to host"""
REFUSED = "overlay.crit[3]: the lead refused this broker: b-1 is configured as rank 3: mismatched config?"
CASES = {
    "nothing": ("", ""),
    "no-error": ("<6>broker.info[2]: builtins-success: load-builtins->join 12.3128ms", ""),
    "real-flux": (f"{FLUX}\n{AGAIN}\n{FLUX}\n{AGAIN}", "overlay.err[2]: overlay.hello: Invalid argument"),
    "embedded": (f"Nov 28 09:07:51.162182 UTC 2026 {REFUSED}\n{AGAIN}", REFUSED),
    "script": ("minicluster[2]: cannot write to /run", "minicluster[2]: cannot write to /run"),
    "control-characters": ("overlay.err[2]: a\x1b[31mb", "overlay.err[2]: a [31mb"),
    "long": (f"overlay.err[2]: {'x' * 400}", f"overlay.err[2]: {'x' * 284}"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_the_line_that_has_the_reason(text: str, expected: str) -> None:
    assert problem(text.splitlines()) == expected
