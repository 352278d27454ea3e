"""Completion of command lines: scripts for shells, and the answers that these scripts ask for.

A shell calls `minicluster __complete WORD... INCOMPLETE`, kubectl `kubectl_complete-minicluster` with the
same words. Both get the protocol of cobra, with which kubectl's own completion is made: a line for each
candidate, with its description behind a tab, and at last a colon with a directive (decision 0041).
"""
