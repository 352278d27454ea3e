"""An API over running instances for many users; empty so far.

It reaches instances by their port, and clusters by the back ends; a contract holds it to that.
"""
