"""Run a simulation study set by set, into a folder from which it can resume.

Set k draws only from the generator of (seed, k), so it is the same on any number of cores, on a cluster, and when run
again. Its result is one file, `sets/0007.json`, written completely or not at all and named by its number, so no set can
be lost between two runs or counted twice.
"""

import contextlib
import hashlib
import json
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.run import Plan
from judgemap.core.threads import one_thread
from judgemap.errors import NotInstalledError, StudyError, told_as_study_error
from judgemap.study.fit.folder import check_folder, write_whole
from judgemap.study.fit.record import versions

Row = dict[str, Any]
"""One line of a table: what was measured, by name."""

MARK = "simulation.json"
"""The file that says what a folder holds: the study, its settings, the seed, the map, the versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment(ABC):
    """A simulation study: its settings, and how to simulate and measure one set."""

    comparisons: int = 2000
    chains: int = 4
    warmup: int = 50
    draws: int = 1250

    name: ClassVar[str]
    paper_sets: ClassVar[int]
    """How many sets the paper simulated."""
    timed: ClassVar[bool] = False
    """Whether CPU seconds are among the measurements."""

    def __post_init__(self) -> None:
        """Raise a `StudyError` if a setting makes no sense."""
        alpha = getattr(self, "alpha", 1.0)
        if not (np.isfinite(alpha) and alpha > 0):
            raise StudyError(f"alpha must be a positive number, received {alpha}")
        for name in ("comparisons", "judges"):
            if (value := getattr(self, name, 1)) < 1:
                raise StudyError(f"{name} must be at least 1, received {value}")
        self.plan()

    def plan(self) -> Plan:
        """How much to draw."""
        with told_as_study_error():
            return Plan(self.chains, self.warmup, self.draws, getattr(self, "thin", 1))

    @abstractmethod
    def prepare(self, graph: AreaGraph) -> Any:  # noqa: ANN401 - each study has its own
        """Compute once what all sets share."""

    @abstractmethod
    def run(self, rng: np.random.Generator, prepared: Any) -> list[Row]:  # noqa: ANN401
        """Simulate one set, fit it in each of the ways being compared, and measure."""

    @abstractmethod
    def summarise(self, measured: pd.DataFrame) -> pd.DataFrame:
        """Summarise what was measured in the sets, with one row for each of the ways being compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What to simulate: a study on a graph of areas, a number of sets, and a seed."""

    experiment: Experiment
    graph: AreaGraph
    sets: int
    seed: int

    def __post_init__(self) -> None:
        if self.sets < 1:
            raise StudyError(f"there must be at least one set to simulate, not {self.sets}")
        if self.graph.n_areas < 3:
            raise StudyError(f"a simulation needs at least three areas, and there are {self.graph.n_areas}")

    def record(self) -> dict[str, Any]:
        """Return everything the sets depend on: the same record means the same sets."""
        edges = hashlib.sha256(self.graph.edges.astype("<i8").tobytes()).hexdigest()
        return {
            "study": self.experiment.name,
            "settings": settings_of(self.experiment),
            "seed": self.seed,
            "map": {"areas": self.graph.n_areas, "edges": len(self.graph.edges), "sha256": edges},
        }


class SetResult(NamedTuple):
    """The result of one set."""

    number: int
    rows: list[Row]
    cpu_seconds: float


Backend = Callable[[Job, Sequence[int]], Generator[SetResult, None, None]]
"""Runs the sets with these numbers, and yields each as it is done, in any order."""

Watcher = Callable[[int, int], None]
"""Called with the number of sets done and wanted."""


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """All sets of a job, in the order of their numbers."""

    job: Job
    sets: tuple[SetResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[Row]:
        """Every measurement, with the number of its set first."""
        return [{"set": each.number, **row} for each in self.sets for row in each.rows]

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all sets together, whenever they were run."""
        return sum(each.cpu_seconds for each in self.sets)

    def summary(self) -> pd.DataFrame:
        """Summarise the sets."""
        return self.job.experiment.summarise(pd.DataFrame(self.rows))

    def remarks(self) -> list[str]:
        """Return what a reader of the summary must know, one sentence each."""
        sentences, size, summary = list(self.notes), len(self.sets), self.summary()
        for row in summary.to_dict("records"):
            if row.get("sets_converged", size) < size:
                sentences.append(
                    f"{row['sampler']}: chains agreed (R-hat of every area ≤ 1.01) in {row['sets_converged']} of "
                    f"{size} sets, and the largest R-hat is {row['rhat_max']:.3f}; where chains do not agree, the "
                    "effective sample size is unreliable, and usually too high."
                )
        if "sets_agreed" in summary and (agreed := summary["sets_agreed"][0]) < size:
            sentences.append(
                f"Chains from different partitions agreed (R-hat < 1.05) in {agreed} of {size} sets; the others need "
                "longer chains."
            )
        return sentences


def prepare(experiment: Experiment, graph: AreaGraph) -> Any:  # noqa: ANN401 - each study has its own
    """Compute what all sets share, with BLAS on one thread as everywhere else."""
    with one_thread(), told_as_study_error(f"the {experiment.name} study cannot be run on this map: "):
        return experiment.prepare(graph)


def run_set(experiment: Experiment, prepared: Any, seed: int, number: int) -> SetResult:  # noqa: ANN401
    """Run one set; it gives the same numbers wherever and whenever it is run."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    began = time.process_time()
    with one_thread():
        try:
            rows = experiment.run(rng, prepared)
        except FloatingPointError as error:
            raise StudyError(f"set {number} failed ({error}); check the map's edges") from None
    return SetResult(number, rows, round(time.process_time() - began, 3))


def conduct(job: Job, folder: Path, backend: Backend, watch: Watcher | None = None) -> Results:
    """Run the sets of ``job`` that ``folder`` does not hold yet, and return all of them.

    Raises a `StudyError` if the folder holds another study, or the same one with other settings.
    """
    check_folder(folder, MARK)
    mark = folder / MARK
    notes = _compare(folder, _read_json(mark), job.record()) if mark.is_file() else ()
    done = finished(folder, job.sets)
    missing = [number for number in range(1, job.sets + 1) if number not in done]
    if watch is not None:
        watch(len(done), job.sets)
    if missing:
        with contextlib.closing(backend(job, missing)) as coming:
            for result in coming:
                _make_folder(job, folder)
                kept = {"set": result.number, "cpu_seconds": result.cpu_seconds, "rows": result.rows}
                write_whole(folder / "sets" / f"{result.number:04d}.json", f"{json.dumps(kept)}\n".encode())
                done[result.number] = result
                if watch is not None:
                    watch(len(done), job.sets)
    return Results(job, tuple(done[number] for number in sorted(done)), notes)


def stored_seed(folder: Path) -> int | None:
    """Return the seed of the simulation in a folder; None if there is none yet."""
    mark = folder / MARK
    return int(_read_json(mark)["seed"]) if mark.is_file() else None


def _make_folder(job: Job, folder: Path) -> None:
    """Create the folder once there is something to put into it."""
    mark = folder / MARK
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not mark.is_file():
            record = {**job.record(), "versions": versions()}
            write_whole(mark, json.dumps(record, indent=2, ensure_ascii=False).encode())
        (folder / "sets").mkdir(exist_ok=True)
    except OSError as error:
        raise StudyError(f"{folder} cannot be written ({error.strerror}); name another folder") from None


def _compare(folder: Path, there: dict[str, Any], wanted: dict[str, Any]) -> tuple[str, ...]:
    """Check that a folder holds the same simulation; return notes about it."""
    advice = "name a new folder, or repeat the same request"
    if there["study"] != wanted["study"]:
        raise StudyError(f"{folder} holds the {there['study']} study, not {wanted['study']}; name a new folder")
    if there["map"] != wanted["map"]:
        raise StudyError(
            f"{folder} holds a simulation on another map, of {there['map']['areas']} areas and "
            f"{there['map']['edges']} borders; name a new folder, or give that map"
        )
    for name in sorted({*there["settings"], *wanted["settings"]}):
        old, new = (each["settings"].get(name, "nothing") for each in (there, json.loads(json.dumps(wanted))))
        if old != new:
            raise StudyError(f"{folder} holds a simulation with {name} = {old}, and {new} was asked for; {advice}")
    if there["seed"] != wanted["seed"]:
        raise StudyError(
            f"{folder} holds a simulation with seed {there['seed']}, and {wanted['seed']} was asked for; {advice}"
        )
    now = versions()
    changed = [f"{name} {old} → {now.get(name)}" for name, old in there["versions"].items() if now.get(name) != old]
    return (f"Earlier sets were run with other versions: {', '.join(changed)}.",) if changed else ()


def finished(folder: Path, sets: int) -> dict[int, SetResult]:
    """Read the sets that a folder holds, up to the number wanted."""
    done = {}
    for path in sorted((folder / "sets").glob("[0-9]*.json")):
        if int(path.stem) <= sets:
            stored = _read_json(path)
            done[stored["set"]] = SetResult(stored["set"], stored["rows"], stored["cpu_seconds"])
    return done


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        raise StudyError(f"{path} is damaged; remove it and run the same command again") from None
    return content


def settings_of(experiment: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    """Return everything that a set depends on except the seed and the map: the fields of the study's dataclass."""
    return {name: _recorded(value) for name, value in asdict(experiment).items()}


def _recorded(value: Any) -> Any:  # noqa: ANN401 - anything that a setting can be
    """Return a setting as JSON has it; arrays as their hash."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(value.astype("<f8").tobytes()).hexdigest()
    if isinstance(value, (tuple, list)):
        return [_recorded(each) for each in value]
    return {name: _recorded(each) for name, each in value.items()} if isinstance(value, dict) else value


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
