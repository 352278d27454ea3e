"""The MiniClusters whose jobs burst: which there are, what is set for each, how their leads are reached."""
