"""The lead's API: HTTPS with a token, for the operator, and for others by routes that packages add.

`routes` is what such a package imports; nothing else here is for others. `operator_routes` has the
operator's. `server` and `handler` speak HTTP; `status_poller` keeps the `status_snapshot` current. They
know of a broker only `BrokerLink`, which has an implementation for each engine. `aggregation` and
`front_proxy` say when the word of an API server counts that passes requests on.
"""
