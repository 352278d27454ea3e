"""Bursting to remote clusters; empty so far.

It reaches clusters through the back ends, and makes documents of its own. A contract of import-linter checks
that.
"""
