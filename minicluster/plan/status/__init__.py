"""What the status reports: observed against desired state, conditions and Events."""
