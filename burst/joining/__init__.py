"""How brokers of a burst join the lead that it is for."""
