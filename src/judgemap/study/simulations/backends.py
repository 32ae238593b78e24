"""Where sets are run: on the cores of this machine (joblib), or on a Dask cluster."""

import socket
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from judgemap.errors import NotInstalledError, StudyError
from judgemap.study.simulations.runner import (
    Backend,
    Job,
    SetResult,
    prepare,
    run_set,
)

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 6.0
"""Seconds within which a cluster must answer, and within which it must have a worker."""

LONGEST_GREETING = 100_000
"""In bytes; a scheduler's greeting has a few hundred."""

AGAIN = "the finished sets are kept: run the same command again to continue"


def on_cores(cores: int) -> Backend:
    """Run sets on several cores of this machine, one process each."""

    def go(job: Job, numbers: Sequence[int]) -> Generator[SetResult, None, None]:
        from joblib import Parallel, delayed
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        prepared = prepare(job.experiment, job.graph)
        calls = (delayed(run_set)(job.experiment, prepared, job.seed, number) for number in numbers)
        try:
            yield from Parallel(n_jobs=cores, return_as="generator_unordered")(calls)
        except TerminatedWorkerError:
            raise StudyError(
                f"a worker process was killed, perhaps because it ran out of memory; {AGAIN}, with fewer --cores"
            ) from None

    return go


def on_cluster(address: str) -> Backend:
    """Run sets on the Dask cluster whose scheduler has this address, such as tcp://10.0.0.1:8786.

    If a worker is lost, the scheduler gives its sets to another. What all sets share is also a task, not data sent in
    advance, because data are lost with the workers that hold them whereas a task is simply done again; for the same
    reason this does not use joblib's own Dask backend.
    """

    def go(job: Job, numbers: Sequence[int]) -> Generator[SetResult, None, None]:
        with _connected(address) as client:
            if job.experiment.timed:
                _check_threads(client, address)
            yield from _submitted(client, job, numbers, address)

    return go


def _submitted(client: "Client", job: Job, numbers: Sequence[int], address: str) -> Generator[SetResult, None, None]:
    from distributed import CancelledError, KilledWorker, as_completed

    prepared = client.submit(prepare, job.experiment, job.graph, pure=False)
    futures = [client.submit(run_set, job.experiment, prepared, job.seed, number, pure=False) for number in numbers]
    try:
        for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
            yield cast("SetResult", future.result())
            future.release()
    except KilledWorker:
        raise StudyError(
            f"a set was lost with several workers of {address} in turn, perhaps because they ran out of memory; {AGAIN}"
        ) from None
    except ModuleNotFoundError as error:
        raise StudyError(
            f"the workers of {address} cannot run judgemap ({error}); install the same version of it there"
        ) from None
    except (CancelledError, OSError):
        raise StudyError(f"the cluster at {address} was lost; {AGAIN}") from None


@contextmanager
def _connected(address: str) -> Iterator["Client"]:
    """Connect, and wait for a worker; raise a `StudyError` within seconds if nothing answers."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise NotInstalledError("Dask", "cluster") from None
    _check_answers(address)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except OSError:
        raise _silent(address) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise StudyError(
                f"the cluster at {address} has no worker; start one with: dask worker {address} --nthreads 1"
            ) from None
        yield client


def _check_answers(address: str) -> None:
    """Raise a `StudyError` unless a scheduler greets us: Dask's own client may wait for minutes on anything else.

    A scheduler begins every connection with the length of its greeting, in eight bytes, the lowest first.
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname if parts.scheme == "tcp" else None, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise StudyError(f"a cluster's address looks like tcp://10.0.0.1:8786, not {address}")
    try:
        with socket.create_connection((host, port), timeout=PATIENCE) as connection:
            greeting = connection.recv(8, socket.MSG_WAITALL)
    except OSError:
        raise _silent(address) from None
    if len(greeting) < 8 or int.from_bytes(greeting, "little") > LONGEST_GREETING:
        raise _silent(address)


def _silent(address: str) -> StudyError:
    return StudyError(f"no Dask scheduler answers at {address}; check the address, or start one with: dask scheduler")


def _check_threads(client: "Client", address: str) -> None:
    if max(client.nthreads().values()) > 1:  # type: ignore[no-untyped-call]
        raise StudyError(
            f"workers of {address} have several threads, so the CPU time of each set cannot be measured; "
            "start them with: dask worker --nthreads 1"
        )
