"""The store on Redis, shared by every process and host that is given the same URL."""
