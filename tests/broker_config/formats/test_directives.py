"""Options in the comments of a batch script (RFC 36)."""

from __future__ import annotations

import pytest

from broker_config.formats import directives
from broker_config.formats.errors import DirectiveError

SCRIPT = """\
#!/bin/sh
# flux: -N2 --job-name='two words'
# What the job is about.

#FLUX: -t 5m # why
# flux:
echo hi
# flux: -n9
"""


def test_each_line_has_its_words() -> None:
    assert [(each.line, each.words) for each in directives.read(SCRIPT)] == [
        (2, ("-N2", "--job-name=two words")),
        (5, ("-t", "5m")),
        (6, ()),
    ]


def test_a_quote_that_does_not_end_is_named() -> None:
    with pytest.raises(DirectiveError, match="line 2: No closing quotation"):
        directives.read("#!/bin/sh\n# flux: --job-name='two\n")
