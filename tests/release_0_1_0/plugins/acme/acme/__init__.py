"""An outside author's package."""
