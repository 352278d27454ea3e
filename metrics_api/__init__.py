"""Queue-aware metrics of MiniClusters: what a lead broker tells of its queue, and who passes it on."""
