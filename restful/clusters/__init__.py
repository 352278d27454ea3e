"""Where clusters are: connections to their instances, and the projection of their journals."""
