"""What every provider promises: it takes hold of a cluster, provides an engine for each configuration, and lets go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.engines.contract import ProviderKind
from assay.errors import EngineError, SpecificationError
from assay.model.cluster import Attachment
from contract_subjects import PARAMETERS, SUBJECTS, Subject


@pytest.fixture(params=PARAMETERS)
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


def quiet(_words: str) -> None:
    return


async def test_from_open_to_close_one_assay_holds_the_cluster_and_restarts_only_for_what_needs_it(
    subject: Subject, tmp_path: Path
) -> None:
    subject.requires("providing")
    home = tmp_path / "home"
    provider = subject.provider(home)
    await provider.close()
    with pytest.raises(EngineError):
        _ = provider.facts
    await provider.open(quiet)
    try:
        assert provider.facts.name == subject.kind.rules.name
        assert provider.facts.version
        assert provider.engine is None
        if "hosts" not in subject.gaps:
            with pytest.raises(EngineError, match="another assay"):
                await subject.provider(home).open(quiet)

        first = await provider.provide(subject.configuration(), quiet)
        assert first.restarted
        assert provider.engine is first.engine
        carried = await provider.provide(subject.configuration(subject.carried), quiet)
        assert not carried.restarted
        restarted = await provider.provide(subject.configuration(subject.restarting), quiet)
        assert restarted.restarted
        assert await restarted.engine.trouble() is None

        await restarted.engine.storage.write("/assay/input/kept", b"here")
        other = await provider.provide(subject.configuration(subject.restarting, layout="other"), quiet)
        assert other.restarted
        assert not await other.engine.storage.exists("/assay/input/kept")
        again = await provider.provide(subject.configuration(), quiet)
        assert await again.engine.storage.read("/assay/input/kept") == b"here"
    finally:
        await provider.close()
    assert not subject.left(home)
    await provider.close()
    with pytest.raises(EngineError):
        _ = provider.facts


def test_an_engine_that_stands_there_already_is_attached_to_or_refused_in_words(
    subject: Subject, tmp_path: Path
) -> None:
    subject.requires("attaching")
    cluster = replace(
        subject.cluster(tmp_path / "home"), attached=Attachment("node", "hadoop", "/conf", "q", "/user/me/assay")
    )
    if ProviderKind.ATTACHED in subject.kind.providers:
        assert subject.kind.provider_of(cluster) is subject.kind.providers[ProviderKind.ATTACHED]
        return
    with pytest.raises(SpecificationError, match=f"can't be attached to a running {subject.kind.rules.name} yet"):
        subject.kind.provider_of(cluster)
