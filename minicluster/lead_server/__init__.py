"""The lead's API: HTTPS with a token, for the operator, and for others by routes that packages add.

`routes` is what such a package imports; nothing else here is for others. `operator_routes` has the
operator's. `server` and `handler` speak HTTP; `status_poller` keeps the `status_snapshot` current. They call
a broker through `BrokerLink` alone, which has an implementation for each engine. `aggregation` and
`front_proxy` verify the API server's front proxy, which passes requests on.
"""
