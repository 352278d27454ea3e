"""The lead's side of running jobs: tasks laid out over ranks, and what comes back from there."""
