"""The port over a running Flux instance: its protocol, its records, one adapter a file.

`connect()` in `minicluster.instance.connection` opens it. `records` and `errors` import nothing but the
standard library, so that they can also be used in a broker's own Python.
"""
