"""What takes more than one reconcile: saving, shrinking and deletion."""
