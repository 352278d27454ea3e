"""A plan made real as processes on this machine."""
