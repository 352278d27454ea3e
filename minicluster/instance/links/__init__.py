"""How a broker is reached: an adapter of `BrokerLink` for each engine, and what threads share of them."""
