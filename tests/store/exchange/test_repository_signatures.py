"""Test signed bundles: real keys, required signatures, refused forgeries."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path

import pytest

from assay.foundation.errors import SpecificationError
from assay.store import Repository
from assay.store.bundles.bundle import SIGNATURE_FILE, write_sums
from assay.store.bundles.ids import new_run_id
from assay.store.bundles.signatures import bad_signatures, sign
from assay.store.exchange.exchange import copy_bundles
from assay.store.exchange.package import pull_package, write_package
from assay.store.exchange.transfer import RefusedBundleError, pack, receive
from builders import make_run
from campaign_support import assay, assay_json

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def ssh_keygen() -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen here")


def key(folder: Path, name: str, kind: str = "ed25519") -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", str(path)], check=True)
    return path


def write_allowed_signers(repository: Repository, *keys: Path) -> None:
    lines = [f"{key.name}@lab {key.with_suffix('.pub').read_text()}" for key in keys]
    repository.folders.signers.write_text("".join(lines))


@pytest.fixture
def source(tmp_path: Path) -> Repository:
    repository = Repository.create(tmp_path / "source")
    repository.publish(make_run(run_id=new_run_id()), logs={"client.log": b"words"})
    return repository


@pytest.mark.parametrize("signers", [True, False])
def test_only_the_bundle_with_a_too_large_signature_is_refused(
    source: Repository, tmp_path: Path, signers: bool
) -> None:
    target = Repository.create(tmp_path / "target")
    maker = key(tmp_path, "maker")
    other = source.publish(make_run(run_id=new_run_id()))
    large, *_ = (path for path in source.folders.bundles.iterdir() if path != other)
    for bundle in (large, other):
        sign(source.folders, bundle, maker)
    with (large / SIGNATURE_FILE).open("r+b") as file:
        file.truncate(30_000_000)
    if signers:
        write_allowed_signers(target, maker)
    package = tmp_path / "package"
    write_package(package, source, [path.name for path in source.folders.bundles.iterdir()], {})
    by_folder = copy_bundles(source, target, lambda *_: None)
    assert [(problem.run_id, problem.file) for problem in by_folder.refused] == [(large.name, SIGNATURE_FILE)]
    assert "30,000,000 bytes" in by_folder.refused[0].detail
    assert by_folder.copied == 1
    assert [problem.run_id for problem in pull_package(package, target, lambda *_: None).refused] == [large.name]
    packed = pack(source, large.name)
    with pytest.raises(RefusedBundleError, match="30,000,000 bytes"):
        receive(target, large.name, io.BytesIO(b"".join(packed.chunks())), bytes_max=1 << 26)
    assert [problem.run_id for problem in bad_signatures(source.folders)] == [large.name]


def bundle_of(repository: Repository) -> Path:
    return next(repository.folders.bundles.iterdir())


def refusals(source: Repository, target: Repository) -> list[str]:
    """Return why bundles were refused, by the folder and by the network."""
    by_folder = [problem.detail for problem in copy_bundles(source, target, lambda *_: None).refused]
    packed = pack(source, bundle_of(source).name)
    by_network = []
    try:
        receive(target, packed.bundle.name, io.BytesIO(b"".join(packed.chunks())), bytes_max=1 << 24)
    except RefusedBundleError as error:
        by_network = [error.message]
    assert by_network == by_folder
    return by_folder


def test_a_repository_accepts_only_bundles_that_its_allowed_signers_signed(source: Repository, tmp_path: Path) -> None:
    ours, others = key(tmp_path, "ours"), key(tmp_path, "others", "ecdsa")
    target = Repository.create(tmp_path / "target")
    write_allowed_signers(target, ours)
    assert refusals(source, target) == ["it is not signed, and this repository accepts only signed bundles"]
    bundle = bundle_of(source)
    assert sign(source.folders, bundle, others)
    assert refusals(source, target) == ["it is not signed by a key in this repository's allowed_signers"]
    (bundle / SIGNATURE_FILE).unlink()
    assert sign(source.folders, bundle, ours)
    assert not sign(source.folders, bundle, ours), "it is signed already"

    genuine = (bundle / "run.json").read_bytes()
    sums = (bundle / "SHA256SUMS").read_bytes()
    (bundle / "run.json").write_bytes(genuine.replace(b"terasort", b"terasXrt"))
    write_sums(bundle)  # as a forger would
    [message] = refusals(source, target)
    assert message.startswith("its signature does not match its checksums")
    assert [problem.file for problem in bad_signatures(source.folders)] == [SIGNATURE_FILE]
    (bundle / "run.json").write_bytes(genuine)
    (bundle / "SHA256SUMS").write_bytes(sums)

    assert refusals(source, target) == []
    assert (target.folders.bundles / bundle.name / SIGNATURE_FILE).exists(), "the signature is copied with the bundle"
    assert target.verify() == []
    assert bad_signatures(target.folders) == bad_signatures(source.folders) == []
    # A user's own run needs no signature.
    target.publish(make_run(run_id=new_run_id()))


def test_signatures_are_in_packages(source: Repository, tmp_path: Path) -> None:
    ours, target = key(tmp_path, "ours"), Repository.create(tmp_path / "target")
    write_allowed_signers(target, ours)
    bundle = bundle_of(source)
    write_package(tmp_path / "plain.tar.gz", source, [bundle.name], {})
    assert len(pull_package(tmp_path / "plain.tar.gz", target, lambda *_: None).refused) == 1
    sign(source.folders, bundle, ours)
    write_package(tmp_path / "signed.tar.gz", source, [bundle.name], {})
    assert pull_package(tmp_path / "signed.tar.gz", target, lambda *_: None).copied == 1


def test_the_command_prints_how_many_bundles_it_signed(source: Repository, tmp_path: Path) -> None:
    ours = key(tmp_path, "ours")
    answer = assay_json("sign", "--key", ours, "--repository", source.root)
    assert answer == {"signed": 1, "signed_before": 0}
    assert "1 already signed" in assay("sign", "--key", ours, "--repository", source.root).stdout
    assert assay_json("verify", "--repository", source.root) == []
    (bundle_of(source) / SIGNATURE_FILE).write_text("-----BEGIN SSH SIGNATURE-----\nAAAA\n")
    done = assay("verify", "--repository", source.root, check=False)
    assert done.returncode == 6
    assert "signature" in done.stdout
    assert assay("sign", "nothing", "--key", ours, "--repository", source.root, check=False).returncode == 6


def test_an_invalid_key_is_an_error(source: Repository, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key\n")
    with pytest.raises(SpecificationError, match="the key can't sign"):
        sign(source.folders, bundle_of(source), tmp_path / "key")
    assert not (bundle_of(source) / SIGNATURE_FILE).exists()
