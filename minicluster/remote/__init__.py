"""The back end of `--on kubernetes`: requests with the rights of the user, without an operator."""
