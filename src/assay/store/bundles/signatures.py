"""Sign bundles and check signatures: checksums detect damage, a signature identifies the signer.

A signature is OpenSSH's (PROTOCOL.sshsig, armored) over a bundle's SHA256SUMS. ``ssh-keygen -Y`` creates and verifies
it, so keys may be in an agent or on a token. The file is ``SHA256SUMS.sig``; the rest of the bundle does not change. A
repository with a file ``allowed_signers`` (ssh-keygen(1), ALLOWED SIGNERS) accepts only bundles of these signers from
other repositories.
"""

import subprocess
from pathlib import Path

from assay.foundation.errors import RepositoryError, SpecificationError
from assay.store.bundles.bundle import SIGNATURE_FILE, SUMS_FILE, BundleProblem, ProblemKind
from assay.store.bundles.folders import Folders
from assay.store.bundles.staging import staging, sync

NAMESPACE = "bundle@assay"
"""Purpose that ssh-keygen includes in the signature. A signature for another purpose is invalid."""
PROGRAM = "ssh-keygen"
_TIMEOUT_S = 60.0
"""Maximum time of ssh-keygen, in seconds. An SSH agent may ask for confirmation."""
SIGNATURE_BYTES_MAX = 16_384
"""Maximum size of a signature, in bytes. A signature with a 16,384-bit RSA key has about 3,000."""


def _keygen(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [PROGRAM, "-Y", *map(str, arguments)], input=stdin, capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except FileNotFoundError as error:
        raise SpecificationError(
            f"{PROGRAM} is not installed", hint="install the OpenSSH client (8.9 or newer)"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise SpecificationError(
            f"{PROGRAM} did not end within {_TIMEOUT_S:.0f} s", hint="a key with a passphrase needs an SSH agent"
        ) from error


def _message_of(result: subprocess.CompletedProcess[bytes]) -> str:
    lines = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit status {result.returncode}"


def sign(folders: Folders, bundle: Path, key: Path) -> bool:
    """Sign a bundle with ``key``: a private key, or the public key of a private key in an agent.

    Return False if the bundle is signed already.

    Raises SpecificationError for an unusable key, RepositoryError if the signature can't be written.
    """
    target = bundle / SIGNATURE_FILE
    if target.exists():
        return False
    result = _keygen("sign", "-q", "-f", key, "-n", NAMESPACE, stdin=(bundle / SUMS_FILE).read_bytes())
    if result.returncode != 0:
        raise SpecificationError(f"the key can't sign: {_message_of(result)}", where=str(key))
    try:
        with staging(folders.partial, "signature") as folder:
            signature = folder / SIGNATURE_FILE
            signature.write_bytes(result.stdout)
            sync(signature)
            signature.rename(target)
        sync(bundle)
    except OSError as error:
        raise RepositoryError(f"the signature could not be stored: {error.strerror}", where=str(target)) from error
    return True


def signature_problem(folders: Folders, bundle: Path) -> str | None:
    """Return why the repository must refuse a bundle; None if it needs no signature or a known signer signed it."""
    signers, signature = folders.signers, bundle / SIGNATURE_FILE
    if message := _size_problem(signature):
        return message
    if not signers.exists():
        return None
    if not signature.is_file():
        return "it is not signed, and this repository accepts only signed bundles"
    principals = _keygen("find-principals", "-s", signature, "-f", signers)
    names = principals.stdout.decode(errors="replace").split()
    if principals.returncode != 0 or not names:
        return "it is not signed by a key in this repository's allowed_signers"
    sums = (bundle / SUMS_FILE).read_bytes()
    result = _keygen("verify", "-f", signers, "-I", names[0], "-n", NAMESPACE, "-s", signature, stdin=sums)
    return None if result.returncode == 0 else f"its signature does not match its checksums: {_message_of(result)}"


def _size_problem(signature: Path) -> str | None:
    """Return a message if a signature is too large to check: ssh-keygen takes a minute for 30 MB."""
    size_bytes = signature.stat().st_size if signature.is_file() else 0
    if size_bytes <= SIGNATURE_BYTES_MAX:
        return None
    return f"its signature has {size_bytes:,} bytes; a signature has at most {SIGNATURE_BYTES_MAX:,}"


def bad_signatures(folders: Folders) -> list[BundleProblem]:
    """Return bundles whose signature does not match their checksums, or whose signer is unknown."""
    signed_bundles = sorted(path.parent for path in folders.bundles.glob(f"*/{SIGNATURE_FILE}"))
    checked_bundles = ((bundle, _stored_signature_problem(folders, bundle)) for bundle in signed_bundles)
    return [
        BundleProblem(bundle.name, SIGNATURE_FILE, ProblemKind.SIGNATURE, text)
        for bundle, text in checked_bundles
        if text
    ]


def _stored_signature_problem(folders: Folders, bundle: Path) -> str | None:
    """Return why the signature of a stored bundle is bad. Without a list of signers, any key may have signed it."""
    if folders.signers.exists():
        return signature_problem(folders, bundle)
    if message := _size_problem(bundle / SIGNATURE_FILE):
        return message
    sums = (bundle / SUMS_FILE).read_bytes()
    result = _keygen("check-novalidate", "-n", NAMESPACE, "-s", bundle / SIGNATURE_FILE, stdin=sums)
    return None if result.returncode == 0 else f"its signature does not match its checksums: {_message_of(result)}"
