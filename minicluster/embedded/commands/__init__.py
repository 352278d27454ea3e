"""The `flux` commands of the embedded instance, one module a command or group, imported when it is called."""
