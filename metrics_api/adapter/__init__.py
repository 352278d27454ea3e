"""The metrics adapter: it serves the Kubernetes metrics APIs for all MiniClusters of a cluster.

    autoscaler ─▶ API server ─▶ server ─▶ queries ─▶ evaluation ─▶ leads ─▶ lead brokers
                                  │                     │
        front_proxy, authorization (the user)        objects (MiniClusters and pods, from watches)

`metrics_api.answers` has queries and the bodies of answers, which lead brokers use, too.

`registration` writes the APIServices by which the API server passes requests on. It trusts the certificate
that `certificates` makes. A value that is not known is an error, never zero: the autoscaler then keeps the
size.
"""
