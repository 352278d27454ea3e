"""An API over running instances for many users, with HTTPS, tokens and a database of its own.

`identity` is who asks, `clusters` where jobs run, `jobs` what becomes of them, `routes` the API's paths,
`compat` those of the API that was there before, `front` what holds for every request, `store` the tables,
and `cli` the command `serve`. It reaches instances through their port, and clusters through the back ends.
A contract of import-linter checks that.
"""
