"""One port to every back end: this machine, Kubernetes, and those of plug-ins."""
