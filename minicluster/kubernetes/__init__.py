"""The operator, and everything else that talks to an API server. No other room does.

    watches ── handlers (kopf: MiniClusters) and watching (the rest) ──▶ cache ──▶ queue of names
    lead brokers ── doors ──▶ cache, and back: what a lead is to be told
    queue ──▶ reconciler: observe ─▶ plan() ─▶ apply ─▶ status ─▶ Events ─▶ orders to the lead

The cache holds what the watches and the leads told; a reconcile reads nothing else, so a MiniCluster that
is settled costs no request. It decides with `plan()`, writes what differs, and can be repeated or killed at
any point: whatever comes next sees what exists, and goes on from there.
"""
