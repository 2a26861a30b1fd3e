"""Measure the offset of a host's clock from the clock of this machine."""

import time
from dataclasses import dataclass

from assay.execution.hosts.transport import Transport
from assay.foundation.errors import HostError


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The lead of a host's clock over this machine's clock, and half of the round trip, which bounds the error."""

    offset_s: float
    uncertain_s: float

    @property
    def significant_s(self) -> float:
        """The offset if it exceeds its uncertainty, else 0."""
        return self.offset_s if abs(self.offset_s) > self.uncertain_s else 0.0


async def clock_offset(transport: Transport, timeout_s: float) -> ClockOffset:
    """Return the offset of the host's clock, in seconds. Raises HostError if its answer is no time.

    The host is assumed to read its clock midway between request and answer.
    """
    sent_unix_s = time.time()
    result = await transport.run(["date", "+%s.%N"], timeout_s=timeout_s)
    received_unix_s = time.time()
    try:
        remote_unix_s = float(result.stdout)
    except ValueError as error:
        message = f"its answer is not a time: {result.stdout[:80]!r}"
        hint = "a start-up file of the login shell, such as .bashrc, must not print anything"
        raise HostError(message, where=f"{transport.name}: date", hint=hint) from error
    return ClockOffset(remote_unix_s - (sent_unix_s + received_unix_s) / 2, (received_unix_s - sent_unix_s) / 2)
