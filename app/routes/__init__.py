"""HTTP: decode, call, encode. The only layer that imports FastAPI or Starlette."""
