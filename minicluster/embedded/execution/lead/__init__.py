"""The lead's side of running jobs: it lays tasks out over ranks, and receives the ranks' messages."""
