"""Test the server behind TLS with a private authority: ``assay pull`` and ``push``, a browser, errors."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from assay.foundation.errors import AssayError
from assay.interfaces.cli.main import assay
from assay.interfaces.web.server.app import create_app
from assay.interfaces.web.server.security import COOKIE, read_tokens
from assay.store import Repository
from assay.store.exchange.transfer import bundle_ids
from browser_support import watched_page
from builders import make_run
from web_support import READ, UPLOAD, filled, served, tokens_file

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PLAIN = serialization.NoEncryption()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificates(folder: Path) -> None:
    """Write an authority, and certificates of it: for loopback, for another name, and one that has expired."""
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    authority = ec.generate_private_key(ec.SECP256R1())

    def write(name: str, names: list[x509.GeneralName], key: ec.EllipticCurvePrivateKey, until: int) -> None:
        made = x509.CertificateBuilder().subject_name(_name(name)).issuer_name(_name("authority"))
        made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
        made = made.not_valid_before(now - 9 * day).not_valid_after(now + until * day)
        made = made.add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
        if names:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = made.sign(authority, hashes.SHA256())
        (folder / f"{name}.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, PLAIN)
        )

    loopback: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    write("authority", [], authority, 2)
    write("server", loopback, ec.generate_private_key(ec.SECP256R1()), 2)
    write("other", [x509.DNSName("other.example")], ec.generate_private_key(ec.SECP256R1()), 2)
    write("old", loopback, ec.generate_private_key(ec.SECP256R1()), -2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tls")
    _certificates(made)
    filled(made / "repository")
    tokens_file(made)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    with _secured(folder, "server") as url:
        yield url


def _secured(folder: Path, name: str):  # type: ignore[no-untyped-def]
    app = create_app(folder / "repository", tokens=read_tokens(folder / "tokens"))
    return served(app, certificate=folder / f"{name}.pem", key=folder / f"{name}.key")


def command(*words: str | Path, authority: Path | None, token: str = READ) -> tuple[int, str]:
    environment = {"ASSAY_TOKEN": token, "SSL_CERT_FILE": str(authority) if authority else None}
    result = CliRunner().invoke(assay, [str(word) for word in words], env=environment)
    error = result.exception
    assert error is None or isinstance(error, AssayError | SystemExit), error
    message = f"{error}\n{error.hint}" if isinstance(error, AssayError) else ""
    return error.exit_code if isinstance(error, AssayError) else result.exit_code, result.output + message


@pytest.mark.slow
def test_runs_travel_both_ways_with_a_private_authority(server: str, folder: Path, tmp_path: Path) -> None:
    authority = folder / "authority.pem"
    code, text = command("pull", server, "--repository", tmp_path / "r", authority=authority)
    assert (code, "0 already present" in text) == (0, True), text
    target = Repository.open(tmp_path / "r")
    assert target.verify() == []
    target.publish(make_run(4711))
    code, text = command("push", server, "--repository", tmp_path / "r", authority=authority, token=UPLOAD)
    assert (code, text.splitlines()[0][:15]) == (0, "1 bundle copied"), text
    assert bundle_ids(Repository.open(folder / "repository")) == bundle_ids(target)


@pytest.mark.parametrize(
    ("certificate", "scheme", "authority", "messages"),
    [
        ("server", "https", False, ("not signed by an authority that this host trusts", "SSL_CERT_FILE")),
        ("other", "https", True, ("for another name", "a name that the certificate has")),
        ("old", "https", True, ("has expired", "needs a new certificate")),
        ("server", "http", True, ("may accept only https: try https://127.0.0.1",)),
    ],
    ids=["not trusted", "another name", "expired", "no TLS"],
)
def test_tls_errors_are_reported_with_the_reason(
    folder: Path, tmp_path: Path, certificate: str, scheme: str, authority: bool, messages: tuple[str, ...]
) -> None:
    with _secured(folder, certificate) as url:
        address = url.replace("https", scheme)
        code, text = command(
            "pull", address, "--repository", tmp_path / "r", authority=folder / "authority.pem" if authority else None
        )
    assert code == 6
    for part in messages:
        assert part in text
    assert "Traceback" not in text


def test_a_server_without_tls_and_an_invalid_authority_file_are_errors(folder: Path, tmp_path: Path) -> None:
    with served(create_app(folder / "repository", tokens=read_tokens(folder / "tokens"))) as url:
        secure = url.replace("http", "https")
        code, text = command("pull", secure, "--repository", tmp_path / "r", authority=folder / "authority.pem")
        assert code == 6
        assert "does not speak TLS" in text
    code, text = command("pull", secure, "--repository", tmp_path / "r", authority=tmp_path / "none.pem")
    assert code == 6
    assert "SSL_CERT_FILE names a file" in text


def test_a_key_of_another_certificate_is_refused_before_anybody_connects(folder: Path) -> None:
    for certificate, key, message in (
        ("server.pem", "other.key", "the key is not this certificate's"),
        ("tokens", "server.key", "not usable"),
        ("server.pem", "tokens", "not usable"),
    ):
        code, text = command(
            "serve",
            "--repository",
            folder / "repository",
            "--port",
            "0",
            "--token-file",
            folder / "tokens",
            "--certificate",
            folder / certificate,
            "--key",
            folder / key,
            authority=None,
        )
        assert code == 2
        assert message in text
        assert " at https" not in text


def test_a_browser_signs_in_over_tls_and_its_session_never_travels_in_the_clear(browser: Browser, server: str) -> None:
    with watched_page(browser, server, ignore_https_errors=True) as watched:
        page = watched.open("/")
        assert page.url.startswith(f"{server}/login")
        page.get_by_label("Token").fill(READ)
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('Which hardware')")
        page.wait_for_selector("body[data-charts=drawn]")
        session = next(cookie for cookie in page.context.cookies() if cookie["name"] == COOKIE)
        assert session["secure"]
        assert session["httpOnly"]
        watched.check()
