"""The operator: it makes MiniClusters real in a Kubernetes cluster.

    watches ── handlers (kopf: MiniClusters) and kube_client.watch (the rest) ──▶ cache ──▶ queue of names
    lead brokers ── lead_watch ──▶ cache, and back: orders to a lead
    queue ──▶ reconciler: observe ─▶ plan() ─▶ apply ─▶ status ─▶ Events ─▶ orders to the lead

The cache holds what the watches and the leads reported; a reconcile reads nothing else, so a MiniCluster at
rest costs no request. A reconcile decides with `plan()`, and writes what differs. It can be repeated or
killed at any point: the next one sees what exists, and goes on from there.
"""
