"""Names of release 0.1.0 that outlive it, for what is in lead_server, save_restore and flux_scheduler now.

Pods that 0.1.0 started run the code of a ConfigMap that an operator has updated since, by the names of
`saving`, `door.flux_module` and `scheduler`. Plug-ins that add routes import the rest of `door`.
"""
