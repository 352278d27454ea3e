"""The metrics adapter: it serves the Kubernetes metrics APIs for all MiniClusters of a cluster.

    autoscaler ─▶ API server ─▶ server ─▶ queries ─▶ evaluation ─▶ leads ─▶ the lead brokers' doors
                                  │                     │
        front_proxy, authorization (who asks)        objects (what there is, from watches)

What is asked for, and the bodies of answers, are `metrics_api.answers`: a lead gives them, too.

The API server passes requests on because `registration` has told it to, and trusts the certificate that
`certificates` makes. Whatever is not known is an error, never a zero: the autoscaler then keeps the size.
"""
