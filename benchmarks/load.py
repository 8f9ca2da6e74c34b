"""Background load for ``benchmarks.stall``: post one large JSON body after another.

``python -m benchmarks.load PORT ours|service`` goes on till its standard input is closed.
"""

from __future__ import annotations

import select
import sys

from benchmarks import bodies
from benchmarks.client import Connection, check


def main(port: int, whose: str) -> None:
    """Post until told to stop, then print how many bodies were answered."""
    call = (bodies.json_call if whose == "ours" else bodies.peer_call)(1_000_000)
    connection = Connection(port)
    print("ready", flush=True)
    count = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        check(connection.call(call))
        count += 1
    print(count, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
