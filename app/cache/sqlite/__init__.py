"""The store on a SQLite file, shared by the processes of one host."""
