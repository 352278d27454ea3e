"""How a broker is called: the protocol `BrokerLink`, its errors, and the requests that every caller shares.

Two modules need real Flux: `flux_link`, a link in Flux's own Python, and `flux_helper`, the far end of a link
in lines.

The whole room runs in Flux's Python, 3.8 or newer, with the standard library alone. Links that need this
project's Python are in `minicluster.instance.links`.
"""
