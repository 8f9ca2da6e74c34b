"""The smallest HTTP/1.1 client that is fair: prepared bytes out, raw bytes in, kept alive.

It costs a few microseconds a call and the same for every server measured, so that what is
measured is the server. Responses must carry Content-Length; chunked ones are refused.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CHUNK = 1 << 20
IDLE_S = 2.0


@dataclass(frozen=True)
class Response:
    """One answer: status, raw header block, body."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str:
        """A header's value, or the empty string."""
        wanted = name.lower().encode()
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == wanted:
                return value.strip().decode()
        return ""


def request(
    method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a request, made once and sent many times."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Connection:
    """One kept-alive connection; one request at a time."""

    def __init__(self, port: int, timeout: float = 120.0) -> None:
        self.port, self.timeout = port, timeout
        self._connect()
        self.begin(b"")

    def _connect(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), self.timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.used = time.monotonic()

    def refresh(self) -> None:
        """Connect anew when idle for so long that the server may have hung up."""
        if time.monotonic() - self.used > IDLE_S:
            self.close()
            self._connect()

    def begin(self, prepared: bytes) -> None:
        """Send a request and forget what came before; ``feed`` reads its answer."""
        self.head = b""
        self.parts: list[bytes] = []
        self.left = -1
        if prepared:
            self.socket.sendall(prepared)

    def feed(self) -> bool:
        """Read once; whether the answer is now complete."""
        data = self.socket.recv(CHUNK)
        if not data:
            raise ConnectionError("the server closed the connection")
        if self.left < 0:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return False
            data, self.head = self.head[end + 4 :], self.head[:end]
            self.left = self._length()
        self.parts.append(data)
        self.left -= len(data)
        return self.left <= 0

    def _length(self) -> int:
        lower = self.head.lower()
        at = lower.find(b"content-length:")
        if at < 0:
            raise ConnectionError("the answer has no Content-Length")
        return int(lower[at + 15 :].split(b"\r\n", 1)[0])

    def answer(self) -> Response:
        """The complete answer."""
        self.used = time.monotonic()
        return Response(int(self.head[9:12]), self.head, b"".join(self.parts))

    def call(self, prepared: bytes) -> Response:
        """Send and wait."""
        self.refresh()
        self.begin(prepared)
        while not self.feed():
            pass
        return self.answer()

    def timed(self, prepared: bytes) -> float:
        """Seconds from the first byte sent to the last byte read; any status but 200 raises."""
        self.refresh()
        start = time.perf_counter()
        self.begin(prepared)
        while not self.feed():
            pass
        seconds = time.perf_counter() - start
        check(self.answer())
        return seconds

    def close(self) -> None:
        """Hang up."""
        self.socket.close()


def check(response: Response) -> Response:
    """The response, when it is a success."""
    if response.status not in {200, 201}:
        raise RuntimeError(f"HTTP {response.status}: {response.body[:500]!r}")
    return response


def crowd(port: int, prepared: bytes, clients: int, calls: int) -> tuple[list[float], float]:
    """Several clients in turn on one thread, each sending again once answered.

    Returns the seconds of every call and of the whole.
    """
    connections: Sequence[Connection] = [Connection(port) for _ in range(clients)]
    seconds: list[float] = []
    started: dict[Connection, float] = {}
    with selectors.DefaultSelector() as selector:
        begin = time.perf_counter()
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            started[connection] = time.perf_counter()
            connection.begin(prepared)
        sent = clients
        while len(seconds) < calls:
            for key, _ in selector.select():
                connection = key.data
                if not connection.feed():
                    continue
                now = time.perf_counter()
                seconds.append(now - started.pop(connection))
                check(connection.answer())
                if sent < calls:
                    sent += 1
                    started[connection] = time.perf_counter()
                    connection.begin(prepared)
        whole = time.perf_counter() - begin
    for connection in connections:
        connection.close()
    return seconds, whole
