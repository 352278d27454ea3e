"""Bursting to remote clusters; empty so far.

It reaches clusters by the back ends and makes documents of its own; a contract holds it to that.
"""
