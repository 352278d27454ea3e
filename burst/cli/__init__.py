"""`minicluster burst`: what people ask of bursting on this machine."""
