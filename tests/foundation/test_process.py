"""Test process identity and locks, also on file systems without locks."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from assay.execution.lab.state import take_lab_lock
from assay.foundation.errors import HostError
from assay.foundation.process import Lock, Owner, lock_holder, start_ticks
from assay.store.campaigns.journal import CampaignJournal


def test_an_owner_is_identified_by_pid_and_start_time() -> None:
    owner = Owner.current()
    assert owner.alive
    assert not replace(owner, start_ticks=owner.start_ticks + 1).alive
    assert not replace(owner, boot_id="another").alive
    child = subprocess.Popen(["true"])
    child.wait()
    assert start_ticks(child.pid) is None


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_not_taken_for_a_lock_that_another_holds(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: object, _how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    takers: list[Callable[[], object]] = [
        partial(Lock.try_take, tmp_path / "lock"),
        partial(take_lab_lock, tmp_path),
        partial(ExitStack().enter_context, CampaignJournal(tmp_path, "1").hold()),
    ]
    for take in takers:
        with pytest.raises(HostError, match="has no locks") as raised:
            take()
        assert raised.value.where == str(tmp_path / "lock")
        assert "local disk" in str(raised.value.hint)
    assert lock_holder(tmp_path / "lock") is None


def test_a_lock_of_a_campaign_can_be_read_by_others(tmp_path: Path) -> None:
    with CampaignJournal(tmp_path, "1").hold():
        assert (tmp_path / "lock").stat().st_mode & 0o044 == 0o044 & ~_umask()
    assert lock_holder(tmp_path / "lock") is None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
