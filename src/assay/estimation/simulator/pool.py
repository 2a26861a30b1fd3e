"""Run several simulator processes for many scenarios, so that a sweep uses all cores.

In: scenarios. Out: a result or an error for each, in the same order. A process answers many lines, and keeps its device
tables. A slow scenario blocks only its own process. The owner of a pool closes it; a simulator ends when its pipe is
closed.
"""

import os
import selectors
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Self

import msgspec

from assay.estimation.simulator.process import TIMEOUT_S, SimulationResult, result_of, simulator
from assay.estimation.simulator.scenario_document import SimulatorInput
from assay.foundation.errors import AssayError, HostError

_PIECE_BYTES = 1 << 20
"""Maximum number of bytes that one read of a process's output returns."""
_PAUSE_S = 0.5
"""Interval at which a wait checks for Ctrl-C, in seconds."""
Answer = SimulationResult | AssayError


class _SimulatorProcess:
    """A simulator process, which answers line by line."""

    def __init__(self) -> None:
        # A separate session: Ctrl-C at the terminal reaches assay, which ends the simulator.
        self._process = subprocess.Popen(
            [str(simulator())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def answer(self, scenario: SimulatorInput, timeout_s: float) -> SimulationResult:
        """Return the result. Raises SpecificationError if it can't be simulated, HostError if the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(scenario) + b"\n")
        except OSError as error:
            raise self._end_error() from error
        return result_of(msgspec.json.decode(self._line(timeout_s)))

    def _line(self, timeout_s: float) -> bytes:
        stream = self._process.stdout
        assert stream is not None
        line = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(stream, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not ready.select(timeout_s):
                    self.end()
                    raise HostError(
                        f"the simulator did not answer within {timeout_s:.0f} s",
                        hint="simulate fewer tasks or a smaller cluster",
                    )
                piece = os.read(stream.fileno(), _PIECE_BYTES)
                if not piece:
                    raise self._end_error()
                line += piece
        return bytes(line)

    def _end_error(self) -> HostError:
        self.end()
        return HostError(
            f"the simulator ended with {self._process.returncode}",
            where=str(simulator()),
            hint="try again; if it fails again, report a bug in assay",
        )

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Kill the process.

        Its pipes stay open, because another thread may still read them, and would otherwise read a reused descriptor.
        """
        self._process.kill()

    def end(self) -> None:
        """Kill the process and close its pipes. No other thread may use them."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class SimulatorPool:
    """A bounded number of simulators, each started when it is first needed."""

    def __init__(self, processes: int | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self.processes = processes or max(1, len(os.sched_getaffinity(0)))
        self._timeout_s = timeout_s
        self._threads = ThreadPoolExecutor(self.processes, thread_name_prefix="simulator")
        self._free: SimpleQueue[_SimulatorProcess | None] = SimpleQueue()
        """Idle processes; None for each process that is not started yet."""
        self._processes: list[_SimulatorProcess] = []
        self._lock = Lock()
        self._closed = False
        for _ in range(self.processes):
            self._free.put(None)

    def __enter__(self) -> Self:
        """Return the pool; no process is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pool."""
        self.close()

    def close(self) -> None:
        """End all simulators, also those that are computing. A call that waits for them raises HostError."""
        with self._lock:
            self._closed = True
            processes = list(self._processes)
        for process in processes:
            process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in processes:
            process.end()

    def simulate_each(
        self, scenarios: Sequence[SimulatorInput], done: Callable[[int], None] | None = None
    ) -> list[Answer]:
        """Return the result or the error of each scenario. ``done`` receives the number of results so far.

        Raises HostError if the pool is closed, also if another thread closes it during the call.
        """
        with self._lock:
            self._fail_if_closed()
            futures = [self._threads.submit(self._simulate_one, scenario) for scenario in scenarios]
        pending_futures: set[Future[Answer]] = set(futures)
        while pending_futures:
            finished_futures, unfinished_futures = wait(
                pending_futures, timeout=_PAUSE_S, return_when="FIRST_COMPLETED"
            )
            pending_futures = {
                future for future in unfinished_futures if not future.cancelled()
            }  # wait never returns a cancelled future as done
            if finished_futures and done is not None:
                done(len(futures) - len(pending_futures))
        with self._lock:
            self._fail_if_closed()
        return [future.result() for future in futures]

    def simulate(self, scenarios: Sequence[SimulatorInput]) -> list[SimulationResult]:
        """Return the results; raise the first error."""
        answers = self.simulate_each(scenarios)
        error = next((answer for answer in answers if isinstance(answer, AssayError)), None)
        if error is not None:
            raise error
        return [answer for answer in answers if isinstance(answer, SimulationResult)]

    def _simulate_one(self, scenario: SimulatorInput) -> Answer:
        process = self._free.get()
        try:
            if process is None or process.ended:
                process = self._start_process()
            return process.answer(scenario, self._timeout_s)
        except AssayError as error:
            return error
        finally:
            self._free.put(process)

    def _start_process(self) -> _SimulatorProcess:
        with self._lock:
            self._fail_if_closed()
            process = _SimulatorProcess()
            self._processes = [*(running for running in self._processes if not running.ended), process]
            return process

    def _fail_if_closed(self) -> None:
        if self._closed:
            raise HostError("the simulator pool is closed", hint="try again; a server that stops closes it")
