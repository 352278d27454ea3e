"""Tests of what is handed out, on real nodes."""
