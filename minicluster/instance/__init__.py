"""The port: one protocol over a running Flux instance, its records, one adapter a file.

`connect()` in `minicluster.instance.connection` opens it; `records` and `errors` import nothing but the
standard library, so that they serve inside a broker's own Python too.
"""
