"""What the administrator of a burst service has set, and what a document may do of it."""
