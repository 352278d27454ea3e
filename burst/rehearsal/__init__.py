"""Clouds that behave, without an account: machines that come late, cost money and go slowly, and faults.

`cloud` is what there is at one, with its clock and its bill; `server` answers requests over HTTP, on
loopback. Each cloud's own words are a module on top, which its official client takes for the real one.
"""
