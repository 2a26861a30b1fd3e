"""``assay serve``: serve the web app and the API, to the local machine or, with tokens, to other machines."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.foundation.errors import AssayError, SpecificationError, missing_path_hint
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import repository_option

if TYPE_CHECKING:
    from assay.interfaces.web.state.store import Store

DEFAULT_PORT = 8710

_SWITCH_INTERVAL_S = 0.0005
"""Maximum time that a thread runs before another thread gets the interpreter, in seconds. With Python's default, which
is ten times as long, requests would wait for background computations."""


@click.command(cls=AssayCommand)
@repository_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Addresses other than loopback require tokens.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0: any free port.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with permitted tokens, a line `ROLES TOKEN` for each. Roles: read, upload, run.",
)
@click.option("--certificate", type=click.Path(path_type=Path, dir_okay=False), help="TLS certificate (PEM).")
@click.option("--key", type=click.Path(path_type=Path, dir_okay=False), help="Private key of the certificate (PEM).")
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML): adds costs.")
@click.option(
    "--clusters",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with cluster files (YAML) for the page Plan.",
)
@click.option("--campaigns", is_flag=True, help="Let tokens with the role run start campaigns on these clusters.")
@click.option("--upload-limit", default="8GB", show_default=True, help="Maximum size of an uploaded bundle.")
@click.option(
    "--connections",
    type=click.IntRange(4, 100_000),
    default=500,
    show_default=True,
    help="Maximum number of connections.",
)
@click.option(
    "--connections-per-address",
    type=click.IntRange(2, 100_000),
    default=100,
    show_default=True,
    help="Maximum number of connections from one address. A proxy is one address.",
)
def serve(**options: Any) -> None:
    """Serve the repository to browsers, `assay pull` and `assay push`.

    A new or empty folder becomes a repository.
    """
    _serve(ServerRequest(**options))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """The options of the server."""

    repository: Path
    host: str
    port: int
    """0 for any free port."""
    token_file: Path | None
    certificate: Path | None
    key: Path | None
    prices: Path | None
    clusters: Path | None
    """Folder with cluster files."""
    campaigns: bool
    """Whether tokens with the role run may start campaigns."""
    upload_limit: str
    connections: int
    connections_per_address: int

    @property
    def upload_bytes_max(self) -> int:
        """Return the maximum size of an uploaded bundle, in bytes. Raises SpecificationError for other text."""
        from assay.foundation.units import parse_bytes

        try:
            return parse_bytes(self.upload_limit)
        except ValueError as error:
            raise SpecificationError(str(error), where="--upload-limit") from error


def _serve(request: ServerRequest) -> None:
    from assay.interfaces.web.server.app import create_app
    from assay.interfaces.web.server.connections import ConnectionLimits
    from assay.interfaces.web.server.security import is_loopback, read_tokens
    from assay.interfaces.web.server.server import rate_limited_log, server
    from assay.specs import load_prices
    from assay.store import Repository
    from assay.store.index.index import bundle_names

    _check_access(request)
    upload_bytes_max = request.upload_bytes_max
    is_new = not Repository.is_at(request.repository)
    opened_repository = Repository.create(request.repository)
    app = create_app(
        opened_repository.root,
        tokens=read_tokens(request.token_file) if request.token_file else None,
        upload_bytes_max=upload_bytes_max,
        book=load_prices(request.prices) if request.prices else None,
        book_text=request.prices.read_text(encoding="utf-8") if request.prices else "",
        book_path=request.prices,
        cluster_folders=[request.clusters] if request.clusters else [],
        campaigns=request.campaigns,
        first_search=True,
    )
    if request.token_file and request.certificate is None and not is_loopback(request.host):
        click.echo(
            "warning: without --certificate, tokens are sent unencrypted; use a proxy with TLS, or a trusted network",
            err=True,
        )
    with _listening(request.host, request.port) as listener:
        scheme = "https" if request.certificate else "http"
        name = f"[{request.host}]" if ":" in request.host else request.host
        click.echo(f"Serving {request.repository} at {scheme}://{name}:{listener.getsockname()[1]}/ (Ctrl-C to stop)")
        if is_new:
            click.echo(f"Made a new repository in {opened_repository.root.resolve()}")
        if not bundle_names(opened_repository.folders.bundles):
            click.echo("It has no runs yet; the page shows three ways to add some.")
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        threading.Thread(target=_follow_store, args=(app.state.context.store,), daemon=True).start()
        limits = ConnectionLimits(request.connections, request.connections_per_address)
        with rate_limited_log():
            web_server, limiter = server(app, listener, limits, certificate=request.certificate, key=request.key)
            web_server.run(sockets=[limiter])


def _check_access(request: ServerRequest) -> None:
    """Raise SpecificationError for options without access control, or for certificates that TLS cannot use."""
    from assay.interfaces.web.server.security import is_loopback

    if (request.certificate is None) != (request.key is None):
        raise SpecificationError("TLS needs both --certificate and --key", where="--certificate")
    for path in (request.certificate, request.key):
        if path is not None and not path.is_file():
            raise SpecificationError("there is no such file", where=str(path), hint=missing_path_hint(path))
    _check_certificate(request.certificate, request.key)
    if request.token_file is None and not is_loopback(request.host):
        raise SpecificationError(
            f"other machines can reach {request.host}, and there are no tokens",
            where="--host",
            hint="add --token-file FILE, or listen on 127.0.0.1 for this machine only",
        )
    if request.campaigns and request.token_file is None:
        raise SpecificationError(
            "starting campaigns needs a token",
            where="--campaigns",
            hint="add --token-file FILE with a token that has the role run",
        )


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    """Raise SpecificationError if TLS cannot use the certificate and key."""
    if certificate is None or key is None:
        return
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, OSError) as error:
        reason = error.reason if isinstance(error, ssl.SSLError) and error.reason else error
        message = {"KEY_VALUES_MISMATCH": "the key is not this certificate's"}.get(
            str(reason), f"not usable ({reason})"
        )
        raise SpecificationError(
            message,
            where=f"{certificate}, {key}",
            hint="both must be PEM files, the key without a passphrase; put a chain into the certificate file",
        ) from error


def _follow_store(store: Store) -> None:
    """Read the runs before the first request, then follow changes; never returns.

    If reading fails, the next request reports the error.
    """
    with contextlib.suppress(AssayError):
        store.preload()
    threading.Thread(target=store.prepare_in_background, daemon=True).start()
    store.follow_changes()


def _listening(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises AssayError if the address is not available."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise AssayError(
            f"cannot listen: {error.strerror or error}", where=f"{host}:{port}", hint="choose another port with --port"
        ) from error
