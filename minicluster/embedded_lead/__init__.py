"""Programs beside the embedded instance's lead: the lead's server, and the start script's command for dumps.

They are what `lead_server.flux_module` and `save_restore.flux_command` are for real Flux.
"""
