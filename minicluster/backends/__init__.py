"""The places where clusters live, behind one port: this machine, Kubernetes, and what plug-ins bring."""
