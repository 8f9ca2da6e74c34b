"""The command: ``gradserve serve`` starts the server; ``call`` and ``watch`` talk to one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn

from app import __version__, client
from app.core.settings import Settings
from app.sparse import colouring
from app.sparse.kernels import build

cli = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gradserve {__version__}")
        raise typer.Exit


@cli.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Tell the version.")
    ] = False,
) -> None:
    """A web REST compute API: functions over HTTP, differentiated and compiled once."""


cli.command()(client.call)
cli.command()(client.watch)


@cli.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to bind.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.")] = None,
    redis_url: Annotated[
        str | None, typer.Option(help="Redis to share programs by; without it, SQLite.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where SQLite and the key live.")] = None,
    platform: Annotated[str | None, typer.Option(help="cpu, cuda or tpu.")] = None,
    devices: Annotated[int | None, typer.Option(help="Device workers.")] = None,
    processes: Annotated[int | None, typer.Option(help="API processes.")] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="Bind beyond loopback without a key.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning, error.")] = None,
) -> None:
    """Start the server; every option has a GRADSERVE_ variable of its name."""
    given = {name: value for name, value in locals().items() if value is not None}
    settings = _settings(given)
    if not settings.is_loopback() and not settings.api_keys and not settings.insecure:
        raise typer.BadParameter(
            f"binding {settings.host} needs a key: set GRADSERVE_API_KEYS, or say --insecure"
        )
    built = settings.sparse_kernels != "portable" and build.ensure() is not None
    if settings.sparse_kernels == "native" and not built:
        raise typer.BadParameter("GRADSERVE_SPARSE_KERNELS=native needs a C++ compiler")
    colouring.ensure()
    uvicorn.run(
        "app.routes.application:create_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.processes,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.drain_s) + 5,
    )


def _settings(given: dict[str, Any]) -> Settings:
    """Settings of the options, put in the environment so that further processes see them too."""
    for name, value in given.items():
        os.environ[f"GRADSERVE_{name.upper()}"] = str(value)
    try:
        return Settings()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def main() -> None:
    """The console script."""
    cli()


if __name__ == "__main__":
    main()
