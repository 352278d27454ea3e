"""The clusters of a service of the RESTful API, as a back end."""
