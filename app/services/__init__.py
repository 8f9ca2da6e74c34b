"""Use cases: one file each, between the HTTP routes and the layers that compute."""
