"""A client of the HTTPS server of a lead broker: its keys, one connection, and the reports that it sends."""
