"""Completion of command lines: scripts for shells, and the answers that these scripts ask for.

A shell calls `minicluster __complete WORD... INCOMPLETE`, kubectl `kubectl_complete-minicluster` with the
same words. Both get the protocol of cobra, with which kubectl's own completion is made: a line for each
candidate, with its description behind a tab, and at last a colon with a directive (decision 0041).
"""

WORDS = "__complete"
"""In place of a command: the words behind it are to be completed, the last of them is the incomplete one."""
LINE = "__complete_bash"
"""The same for bash, which splits words at `=` and `:` too: the line, and the part that is to be replaced."""
