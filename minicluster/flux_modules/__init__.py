"""Names of release 0.1.0 that outlive it: lead_server, save_restore and flux_scheduler have what they name.

Pods that 0.1.0 started run the code of a ConfigMap that an operator updated since, by the names of `saving`,
`door.flux_module` and `scheduler`. Others' routes at the lead were written against the rest of `door`.
"""
