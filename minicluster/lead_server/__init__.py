"""The lead's door: HTTPS with a token, for the operator (and others, who add routes).

`server` and `handler` speak HTTP, `routes` say what is served, `follower` keeps the status on the `board`
current. Of a broker they know only the `Link`, which has an implementation for each engine. `aggregation` and
`front_proxy` say when the word of an API server counts that passes requests on.
"""
