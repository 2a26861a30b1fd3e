"""``assay serve``: the web app and the API over the repository, on this machine or, with tokens, for others."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.foundation.errors import AssayError, SpecificationError
from assay.interfaces.cli.command_classes import AssayCommand
from assay.interfaces.cli.common import repository_option

if TYPE_CHECKING:
    from assay.interfaces.web.state.store import Store

DEFAULT_PORT = 8710

_SWITCHED_S = 0.0005
"""How long a thread computes before another gets its turn: requests would wait ten times as long for what is made
beside them."""


@click.command(cls=AssayCommand)
@repository_option
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; any but loopback needs tokens."
)
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0: a free one.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Tokens that may use it: a line each, ROLES TOKEN; roles are read, upload, run.",
)
@click.option("--certificate", type=click.Path(path_type=Path, dir_okay=False), help="TLS certificate (PEM).")
@click.option("--key", type=click.Path(path_type=Path, dir_okay=False), help="The certificate's key (PEM).")
@click.option("--prices", type=click.Path(path_type=Path, dir_okay=False), help="Price book (YAML) to show costs with.")
@click.option(
    "--clusters",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with cluster files (YAML) that plans can be made for in the page Plan.",
)
@click.option("--campaigns", is_flag=True, help="Let tokens with the role run start campaigns on those clusters.")
@click.option("--upload-limit", default="8GB", show_default=True, help="Largest bundle that is taken.")
@click.option(
    "--connections",
    type=click.IntRange(4, 100_000),
    default=500,
    show_default=True,
    help="Connections at once, in all.",
)
@click.option(
    "--connections-per-address",
    type=click.IntRange(2, 100_000),
    default=100,
    show_default=True,
    help="Connections at once from one address; behind a proxy all come from one.",
)
def serve(
    repository: Path,
    host: str,
    port: int,
    token_file: Path | None,
    certificate: Path | None,
    key: Path | None,
    prices: Path | None,
    clusters: Path | None,
    campaigns: bool,
    upload_limit: str,
    connections: int,
    connections_per_address: int,
) -> None:
    """Show the repository in a browser, and offer it to `assay pull` and `assay push`.

    A folder that is new or empty becomes a repository.
    """
    from assay.foundation.units import parse_bytes
    from assay.interfaces.web.server.app import create_app
    from assay.interfaces.web.server.connections import ConnectionLimits
    from assay.interfaces.web.server.security import is_loopback, read_tokens
    from assay.interfaces.web.server.server import rate_limited_log, server
    from assay.specs import load_prices
    from assay.store import Repository
    from assay.store.index.index import bundle_names

    _check_access(host, token_file, certificate, key, campaigns=campaigns)
    try:
        limit = parse_bytes(upload_limit)
    except ValueError as error:
        raise SpecificationError(str(error), where="--upload-limit") from error
    opened = Repository.create(repository)
    app = create_app(
        opened.root,
        tokens=read_tokens(token_file) if token_file else None,
        upload_bytes_max=limit,
        book=load_prices(prices) if prices else None,
        book_text=prices.read_text(encoding="utf-8") if prices else "",
        cluster_folders=[clusters] if clusters else [],
        campaigns=campaigns,
    )
    if token_file and certificate is None and not is_loopback(host):
        click.echo(
            "Without --certificate tokens travel in the clear: let a proxy do TLS, or trust the network.", err=True
        )
    with _listening(host, port) as listener:
        scheme, name = "https" if certificate else "http", f"[{host}]" if ":" in host else host
        click.echo(f"assay shows {repository} at {scheme}://{name}:{listener.getsockname()[1]}/  (Ctrl-C ends it)")
        if not bundle_names(opened.folders.bundles):
            click.echo("It holds no runs yet: the page shows three ways to get some.")
        sys.setswitchinterval(_SWITCHED_S)
        threading.Thread(target=_kept_ready, args=(app.state.context.store,), daemon=True).start()
        limits = ConnectionLimits(connections, connections_per_address)
        with rate_limited_log():
            started, limiter = server(app, listener, limits, certificate=certificate, key=key)
            started.run(sockets=[limiter])


def _check_access(
    host: str, token_file: Path | None, certificate: Path | None, key: Path | None, *, campaigns: bool
) -> None:
    """Raise SpecificationError for options that let in everyone, or that TLS can't be done with."""
    from assay.interfaces.web.server.security import is_loopback

    if (certificate is None) != (key is None):
        raise SpecificationError("TLS needs both --certificate and --key", where="--certificate")
    for path in (certificate, key):
        if path is not None and not path.is_file():
            raise SpecificationError("there is no such file", where=str(path))
    _check_certificate(certificate, key)
    if token_file is None and not is_loopback(host):
        raise SpecificationError(
            f"{host} can be reached by others, and there are no tokens",
            where="--host",
            hint="--token-file FILE says who may do what; 127.0.0.1 is for this machine alone",
        )
    if campaigns and token_file is None:
        raise SpecificationError(
            "without tokens nobody may start a campaign",
            where="--campaigns",
            hint="--token-file FILE, with a token that has the role run",
        )


def _check_certificate(certificate: Path | None, key: Path | None) -> None:
    """Make sure that TLS can be done with both, before anybody connects. Raises SpecificationError."""
    if certificate is None or key is None:
        return
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, OSError) as error:
        reason = error.reason if isinstance(error, ssl.SSLError) and error.reason else error
        told = {"KEY_VALUES_MISMATCH": "the key is not this certificate's"}.get(str(reason), f"not usable ({reason})")
        raise SpecificationError(
            told,
            where=f"{certificate}, {key}",
            hint="both are PEM files, the key without a passphrase; a chain goes into the certificate's file",
        ) from error


def _kept_ready(store: Store) -> None:
    """Read the runs while nobody has asked yet, and those that are added; what goes wrong is told to whoever asks."""
    with contextlib.suppress(AssayError):
        store.warm()
    threading.Thread(target=store.prepare_in_background, daemon=True).start()
    store.follow_changes()


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises AssayError in words when the address can't be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise AssayError(
            f"can't listen: {error.strerror or error}", where=f"{host}:{port}", hint="--port names another port"
        ) from error
