"""Single flight: within a process, between real processes, and after its leader's death."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time

from app.cache.flight import Flights
from tests.serving import ROOT


class Replica:
    """One ``replica.py``, with what it has said so far."""

    def __init__(self, where: str, seconds: float) -> None:
        command = [sys.executable, "-m", "tests.cache.replica", where, "1" * 64, str(seconds)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def hear(self) -> tuple[str, float]:
        word, when = self.process.stdout.readline().split()
        return word, float(when)

    def go(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> dict[str, float]:
        said, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        return {word: float(when) for word, when in (line.split() for line in said.splitlines())}


def test_processes_race_and_one_leads(where):
    replicas = [Replica(where, 0.5) for _ in range(3)]
    for replica in replicas:
        assert replica.hear()[0] == "ready"
    for replica in replicas:
        replica.go()
    said = [replica.end() for replica in replicas]
    assert sorted(map(tuple, said)) == [("follows",), ("follows",), ("leads", "made")]
    made = max(words.get("made", 0) for words in said)
    assert all(words["follows"] - made < 0.3 for words in said if "follows" in words)


def test_a_follower_takes_over_from_a_leader_that_was_killed(where):
    leader, follower = Replica(where, 60), Replica(where, 0.1)
    for replica in (leader, follower):
        replica.hear()
    leader.go()
    assert leader.hear()[0] == "leads"
    follower.go()
    time.sleep(1.5)  # long enough for the lease to have been renewed
    leader.process.send_signal(signal.SIGKILL)
    killed = time.time()
    leader.process.communicate()
    said = follower.end()
    assert list(said) == ["leads", "made"]
    assert 0 < said["leads"] - killed < 5


async def test_ten_tasks_of_one_process_have_one_leader(connect):
    async with connect() as store:
        flights = Flights(store)
        leaders = followers = 0

        async def fly() -> None:
            nonlocal leaders, followers
            async with flights.flight("k") as leader:
                if leader:
                    leaders += 1
                    await asyncio.sleep(0.05)
                    assert followers in (0, 9)
                else:
                    followers += 1

        await asyncio.gather(*(fly() for _ in range(10)))
        assert (leaders, followers) == (1, 9)
        await fly()
        assert leaders == 2


async def test_flights_of_different_names_do_not_meet(connect):
    async with connect() as store:
        flights = Flights(store)
        async with flights.flight("a") as one, flights.flight("b") as other:
            assert one
            assert other


async def test_followers_leave_soon_after_the_leader(connect):
    async with connect() as one, connect() as other:
        ahead, behind = Flights(one), Flights(other)
        delays = []

        async def follow(name: str) -> float:
            async with behind.flight(name) as leader:
                assert not leader
                return time.perf_counter()

        for n in range(9):
            async with ahead.flight(f"k{n}"):
                following = asyncio.create_task(follow(f"k{n}"))
                await asyncio.sleep(0.06)
                landed = time.perf_counter()
            delays.append(await following - landed)
        assert sorted(delays)[3] < 0.02, delays


async def test_a_lease_is_renewed_while_the_leader_works(connect):
    async with connect() as one, connect() as other:
        ahead = Flights(one, lease_s=0.3, renew_s=0.05)
        async with ahead.flight("k") as leader:
            assert leader
            for _ in range(8):
                await asyncio.sleep(0.1)
                assert await other.acquire("k", 1) is None
        assert await other.acquire("k", 1) is not None


async def test_a_leader_that_fails_or_is_cancelled_lets_the_next_lead(connect):
    async with connect() as one, connect() as other:
        flights = Flights(one)

        async def fly() -> None:
            async with flights.flight("k"):
                await asyncio.sleep(30)

        task = asyncio.create_task(fly())
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(1), Flights(other).flight("k") as leader:
            assert leader


async def test_a_caller_cancelled_while_it_asks_leaves_no_lease_behind(connect):
    async with connect() as one, connect() as other:
        for n in range(20):
            name = f"k{n}"

            async def fly(name: str) -> None:
                async with Flights(one).flight(name):
                    await asyncio.sleep(30)

            task = asyncio.create_task(fly(name))
            await asyncio.sleep(n * 0.0002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            async with asyncio.timeout(1), Flights(other).flight(name) as leader:
                pass
            if not leader:  # it was granted and given back while we waited
                assert await other.acquire(name, 1) is not None
