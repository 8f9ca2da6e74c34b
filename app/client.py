"""``gradserve call`` and ``gradserve watch``: a terminal's client of any server.

Results go to standard output as JSON, everything else to standard error; the exit status is 0
where there is a result, 1 where there is a problem, 2 where the command itself is wrong (an option,
a file, a key), 3 where the run was cancelled or left to itself.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from app.core.ids import is_id

FAILED, MISUSED, CANCELLED = 1, 2, 3
MSGPACK = ".msgpack"
_SILENCE_S = 60.0
"""Servers say something at least every 15 s; after this long the connection is made anew."""
_RETRIES = 60
_MEASURES = ("iteration", "epoch", "value", "loss", "gradient_norm", "residual", "t")

Server = Annotated[
    str, typer.Option("--server", envvar="GRADSERVE_SERVER", help="Where the server answers.")
]
Key = Annotated[
    str | None, typer.Option("--key", envvar="GRADSERVE_API_KEY", help="Its bearer key.")
]
LOCAL = "http://127.0.0.1:8000"


def call(
    verb: Annotated[str, typer.Argument(help="evaluate, grad, hessian, minimize, …")],
    file: Annotated[Path, typer.Argument(help="The call's body: JSON, .msgpack, or - for input.")],
    server: Server = LOCAL,
    key: Key = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Begin a run, and show its progress.")
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Begin a run, tell its id, and do not wait.")
    ] = False,
) -> None:
    """Call a verb with the body in a file, and print the answer."""
    if watch and detach:
        _misused("--watch and --detach are opposites: give one of them")
    headers = {"content-type": "application/json", "accept": "application/json"}
    if file.suffix == MSGPACK:
        headers["content-type"] = "application/msgpack"
    if watch or detach:
        headers["prefer"] = "respond-async"
    with _http(server, key) as http:
        try:
            path = f"/v1/{quote(verb, safe='/')}"
            answer = http.post(path, content=_body(file), headers=headers, timeout=None)
        except httpx.TransportError as error:
            _unreachable(server, error)
        if answer.is_error:
            _refused(answer)
        if detach:
            typer.echo(answer.json()["run"])
        elif watch:
            raise typer.Exit(_follow(http, answer.json()["run"]))
        else:
            typer.echo(answer.text)


def watch(
    run: Annotated[str, typer.Argument(help="The id of a run.")],
    server: Server = LOCAL,
    key: Key = None,
) -> None:
    """Show the progress of a run until it ends, and print its result."""
    if not is_id("run", run):
        _misused(f"{run!r:.60} is no id of a run: run_ and 32 hex digits")
    with _http(server, key) as http:
        raise typer.Exit(_follow(http, run))


def _http(server: str, key: str | None) -> httpx.Client:
    if key and not (key.isascii() and key.isprintable() and key == key.strip()):
        _misused("the key must be printable ASCII, without spaces around it")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        return httpx.Client(base_url=server, headers=headers, timeout=_SILENCE_S)
    except (httpx.InvalidURL, UnicodeError) as error:
        _misused(f"--server {server!r:.200}: {error}")


def _body(file: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        _misused(f"{file}: {error.strerror}")


def _follow(http: httpx.Client, run_id: str) -> int:
    """Show a run until its end; the exit status. Nothing is drawn of a run that is not there."""
    events = _events(http, run_id)
    try:
        first = list(islice(events, 1))
        with _shown() as shown:
            task = shown.add_task("queued", total=None, said="")
            for event in chain(first, events):
                _show(shown, task, event)
    except KeyboardInterrupt:
        typer.echo(f"{run_id} goes on; watch it again, or DELETE /v1/runs/{run_id}", err=True)
        return CANCELLED
    answer = http.get(f"/v1/runs/{run_id}")
    if answer.is_error:
        _refused(answer)
    said = answer.json()
    if said["status"] == "done":
        typer.echo(answer.text)
        return 0
    if "problem" in said:
        _explain(said["problem"])
        return FAILED
    typer.echo(f"{run_id} was {said['status']}", err=True)
    return CANCELLED


def _shown() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )


def _show(shown: Progress, task: Any, event: _Event) -> None:
    if event.kind == "status":
        status = event.data["status"]
        shown.update(task, description=status)
        if status == "done":
            shown.update(task, total=1, completed=1)
    elif event.kind == "progress":
        fraction = event.data.get("fraction")
        known = isinstance(fraction, (int, float))
        shown.update(
            task,
            description=str(event.data.get("phase", "running")),
            said=_measures(event.data),
            total=1 if known else None,
            completed=fraction if known else 0,
        )


def _measures(data: dict[str, Any]) -> str:
    pairs = ((name, data[name]) for name in _MEASURES if name in data)
    if isinstance(left := data.get("left_s"), (int, float)):
        pairs = (*pairs, ("left", f"{left:.0f} s"))
    return "  ".join(
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in pairs
    )


@dataclass(frozen=True, slots=True)
class _Event:
    id: str
    kind: str
    data: dict[str, Any]


def _events(http: httpx.Client, run_id: str) -> Iterator[_Event]:
    """Every event of a run, over as many connections as it takes."""
    last, failures = "", 0
    while True:
        headers = {"last-event-id": last} if last else {}
        try:
            with http.stream("GET", f"/v1/runs/{quote(run_id)}/events", headers=headers) as answer:
                if answer.status_code == 503:
                    raise httpx.ConnectError("the server is starting or draining")
                if answer.is_error:
                    answer.read()
                    _refused(answer)
                if answer.status_code == 204:
                    return
                for event in _parsed(answer.iter_lines()):
                    last, failures = event.id, 0
                    yield event
                    if event.data.get("status") in ("done", "failed", "cancelled"):
                        return
        except httpx.TransportError as error:
            failures += 1
            if failures > _RETRIES or not last:
                _unreachable(str(http.base_url), error)
        time.sleep(1.0)


def _parsed(lines: Iterator[str]) -> Iterator[_Event]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "id" in fields:
            yield _Event(fields["id"], fields["event"], json.loads(fields["data"]))
            fields = {}


def _misused(why: str) -> NoReturn:
    typer.echo(why, err=True)
    raise typer.Exit(MISUSED)


def _refused(answer: httpx.Response) -> NoReturn:
    try:
        _explain(answer.json())
    except ValueError:
        typer.echo(f"{answer.status_code} {answer.reason_phrase}", err=True)
    raise typer.Exit(FAILED)


def _explain(problem: dict[str, Any]) -> None:
    """A problem for people: what, where, and what to do instead."""
    typer.echo(f"{problem.get('title')}: {problem.get('detail')}", err=True)
    places = [
        f"{name} {problem[name]}" for name in ("pointer", "line", "column") if name in problem
    ]
    if places:
        typer.echo("  at " + ", ".join(places), err=True)
    if "hint" in problem:
        typer.echo(f"  {problem['hint']}", err=True)


def _unreachable(server: str, error: httpx.TransportError) -> NoReturn:
    typer.echo(f"{server} does not answer: {error}", err=True)
    raise typer.Exit(FAILED)
