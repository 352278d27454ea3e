"""What `--on kubernetes` asks of a cluster, with the rights of the user: no operator is part of it."""
