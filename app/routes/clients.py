"""Who a request comes from: the bearer key where keys are asked for, else the address."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from app.routes.reading import Scope
from app.services.runs.run import Client

_DIGITS = 16


def client_of(scope: Scope, headers: Mapping[bytes, bytes], *, keyed: bool) -> Client:
    """The client of a request whose key, where ``keyed``, was found right before."""
    if keyed:
        name = hashlib.sha256(headers.get(b"authorization", b"")[7:]).hexdigest()[:_DIGITS]
        return Client(name, tenant=name)
    address = scope.get("client")
    return Client(address[0] if address else "local")
