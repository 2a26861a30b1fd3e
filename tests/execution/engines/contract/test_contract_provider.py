"""Test the contract of providers without a cluster. Open providers are tested in ``test_contract_engine.py``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.execution.engines.contract import ProviderKind
from assay.foundation.errors import EngineError, SpecificationError
from assay.model.clusters.cluster import Attachment
from contract_subjects import PARAMETERS, SUBJECTS, Subject


@pytest.fixture(params=PARAMETERS)
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


async def test_a_provider_has_nothing_before_it_is_opened(subject: Subject, tmp_path: Path) -> None:
    provider = subject.provider(tmp_path / "home")
    assert provider.engine is None
    await provider.close()
    with pytest.raises(EngineError):
        _ = provider.facts


def test_an_existing_engine_is_attached_or_refused_with_the_reason(subject: Subject, tmp_path: Path) -> None:
    subject.requires("attaching")
    cluster = replace(
        subject.cluster(tmp_path / "home"), attached=Attachment("node", "hadoop", "/conf", "q", "/user/me/assay")
    )
    if ProviderKind.ATTACHED in subject.kind.providers:
        assert subject.kind.provider_of(cluster) is subject.kind.providers[ProviderKind.ATTACHED]
        return
    with pytest.raises(SpecificationError, match=f"can't be attached to a running {subject.kind.rules.name} yet"):
        subject.kind.provider_of(cluster)
