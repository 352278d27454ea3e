"""The routes under /v2, one file a group: from requests to the services, and from records to JSON."""
