"""The Store protocol and its Redis and SQLite forms; keys, signing, single flight."""
