"""The operations that take more than one reconcile: saving, shrinking and deletion."""
