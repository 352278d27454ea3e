"""An API over running instances for many users; empty so far.

It reaches instances through their port, and clusters through the back ends. A contract of import-linter
checks that.
"""
