"""`/v1`: the API of flux-restful-api, so that its clients work here unchanged.

Parameters and answers are translated, by pure functions; the work is done by the same services as behind /v2.
docs/rest-compat.md has what differs, and why.
"""
