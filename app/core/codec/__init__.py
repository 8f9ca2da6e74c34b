"""The one codec: bytes on the wire to values inside, and back; JSON, msgpack, encodings."""
