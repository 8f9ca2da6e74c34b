"""The pages a person opens: the playground at ``/`` and the API page at ``/docs``.

Built files of ``web/``, served with a policy that lets them talk to this server alone.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.staticfiles import StaticFiles

BUILT = Path(__file__).parent.parent / "web_dist"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
_NOT_BUILT = "The page is not built: run `make web` (needs npm), then reload. The API works.\n"


def install(app: FastAPI, built: Path = BUILT) -> None:
    """Serve the pages and their assets."""

    def page(name: str) -> Response:
        file = built / name
        if not file.is_file():
            return PlainTextResponse(_NOT_BUILT, headers=HEADERS)
        return FileResponse(file, headers={**HEADERS, "cache-control": "no-cache"})

    async def playground() -> Response:
        return page("index.html")

    async def documentation() -> Response:
        return page("docs.html")

    app.add_api_route("/", playground, methods=["GET"], include_in_schema=False)
    app.add_api_route("/docs", documentation, methods=["GET"], include_in_schema=False)
    if (built / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=built / "assets"), name="assets")
    for file in sorted(built.glob("*.*")):
        if file.suffix != ".html":
            _serve_file(app, file)


def _serve_file(app: FastAPI, file: Path) -> None:
    """A file beside the pages: an icon, or a script that runs before the page is drawn."""

    async def serve() -> Response:
        return FileResponse(file, headers=HEADERS)

    app.add_api_route(f"/{file.name}", serve, methods=["GET"], include_in_schema=False)
