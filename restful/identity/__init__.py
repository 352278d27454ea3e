"""Who asks, and what they may do: users, passwords, tokens, sessions, keys, roles and grants."""
