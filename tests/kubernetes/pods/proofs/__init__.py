"""What bursts promise on two clusters, at full length: run by `make prove-burst`, with `--prove-bursts`."""
