"""How brokers speak to each other: ZeroMQ sockets with CURVE, and messages along the tree of brokers."""
