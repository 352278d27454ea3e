"""What providers of Google Cloud have in common: settings, credentials, errors, rights, listed instances.

Google's clients are imported inside functions only: who has none of these providers does not need them.
"""
