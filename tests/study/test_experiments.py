"""Simulation studies: the same sets on any number of cores, gone on with, never mixed, lost or counted twice."""

import json
import os
import shutil
import signal
import socket
import threading
from dataclasses import replace

import geopandas
import numpy as np
import pytest
import shapely

from judgemap.core.design.designs import naive_spatial, principal_component, uniform
from judgemap.core.design.optimal import optimal
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import communicability
from judgemap.errors import StudyError
from judgemap.study.simulations import runner as backends
from judgemap.study.simulations.clustering import MEASURES, Clustering
from judgemap.study.simulations.robustness import Robustness, cover, read_real
from judgemap.study.simulations.runner import Job, Results, SetResult, conduct, on_cluster, on_cores, stored_seed
from judgemap.study.simulations.scalability import BUILDERS, Scalability
from judgemap.study.simulations.scheduling import DESIGNS, Scheduling, ratio_interval

RING = AreaGraph(8, [[i, (i + 1) % 8] for i in range(8)])
SMALL = Scheduling(comparisons=200, chains=2, draws=25)
"""Fewer answers would need the sampler's wide moves, and take five times as long."""
STUDIES = [
    SMALL,
    Scalability(comparisons=200, chains=2, draws=25),
    Clustering(comparisons=200, chains=2, warmup=20, draws=25, thin=1),
]


def job(experiment=SMALL, sets=3, seed=5, graph=RING):
    return Job(experiment, graph, sets, seed)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Three sets of the small study, run once: the results, and the folder, which is only for reading."""
    folder = tmp_path_factory.mktemp("finished") / "out"
    return conduct(job(), folder, on_cores(1)), folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of the folder, for a test to change."""
    return shutil.copytree(finished[1], tmp_path / "out")


def untimed(results):
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in results.rows]


@pytest.mark.slow  # two processes, and three runs; the test below is the quick sibling
@pytest.mark.parametrize("experiment", STUDIES, ids=lambda study: study.name)
def test_sets_do_not_depend_on_cores(tmp_path, finished, experiment):
    one = finished[0] if experiment is SMALL else conduct(job(experiment), tmp_path / "one", on_cores(1))
    two = conduct(job(experiment), tmp_path / "two", on_cores(2))
    assert untimed(one) == untimed(two)
    assert [each.number for each in two.sets] == [1, 2, 3]
    other = conduct(job(experiment, sets=1, seed=6), tmp_path / "other", on_cores(1))
    assert untimed(other) != untimed(one)[: len(other.rows)]
    assert len(one.summary()) in (len(DESIGNS), len(BUILDERS), len(MEASURES))


def test_a_folder_is_gone_on_with(tmp_path, finished):
    whole = finished[0]
    conduct(job(sets=1), tmp_path / "parts", on_cores(1))
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts" / "sets").iterdir()}
    news = []
    parts = conduct(job(), tmp_path / "parts", on_cores(1), lambda done, wanted: news.append((done, wanted)))
    assert parts.rows == whole.rows
    assert news == [(1, 3), (2, 3), (3, 3)]
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts" / "sets").iterdir()}
    assert {name: after[name] for name in before} == before, "finished sets are left alone"
    assert conduct(job(sets=2), tmp_path / "parts", nowhere).rows == whole.rows[: 2 * len(DESIGNS)]
    assert stored_seed(tmp_path / "parts") == 5


def nowhere(_job, _numbers):
    raise AssertionError("nothing is left to run")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (job(Scheduling(comparisons=201, chains=2, draws=25)), "with comparisons = 200, and 201 was asked for"),
        (job(Scheduling(comparisons=200, chains=2, draws=25, alpha=2.0)), "with alpha = 3.0, and 2.0 was asked for"),
        (job(seed=6), "with seed 5, and 6 was asked for"),
        (job(STUDIES[1]), "holds the scheduling study, not scalability"),
        (job(graph=AreaGraph(8, RING.edges[1:])), "on another map, of 8 areas and 8 borders"),
    ],
)
def test_settings_are_not_mixed(folder, other, sentence):
    with pytest.raises(StudyError, match=sentence):
        conduct(other, folder, nowhere)


def test_other_versions_are_told(folder):
    mark = folder / "simulation.json"
    record = json.loads(mark.read_text())
    record["versions"]["numpy"] = "1.0"
    mark.write_text(json.dumps(record))
    (note,) = conduct(job(), folder, nowhere).notes
    assert note.startswith("Earlier sets were run with other versions: numpy 1.0 → 2")


def test_other_folders_and_damaged_sets_are_refused(folder, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (folder / "sets" / "0002.json").write_text('{"set": 2, "rows"')
    for there, said in (
        (tmp_path, "not empty and holds no simulation"),
        (tmp_path / "mine.txt", "is a file"),
        (folder, r"0002\.json is damaged; remove it"),
    ):
        with pytest.raises(StudyError, match=said):
            conduct(job(), there, nowhere)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: job(sets=0), "at least one set"),
        (lambda: job(graph=AreaGraph(2, [[0, 1]])), "at least three areas"),
        (lambda: Scheduling(alpha=-1.0), "alpha must be a positive number"),
        (lambda: Scheduling(alpha=float("nan")), "alpha must be a positive number"),
        (lambda: Scheduling(comparisons=0), "comparisons must be at least 1"),
        (lambda: Scheduling(sampler="nuts"), "there is no sampler 'nuts'; choose one of 'hmc', 'gibbs'"),
        (lambda: Scheduling(draws=1), "draws must be at least 4"),
        (lambda: Scalability(chains=0), "chains must be at least 1"),
        (lambda: Robustness(behaviours=("carless",)), "there is no behaviour 'carless'"),
        (lambda: Robustness(behaviours=(), truths=()), "nothing is left to try"),
        (lambda: Robustness(truths=("plateau",)), "there is no truth 'plateau' \\(did you mean 'plateaus'"),
        (lambda: Robustness(truths=("matern32",)), "there is no truth 'matern32'"),
        (lambda: Robustness(fits=()), "no fit was named"),
        (lambda: Robustness(judges=0), "judges must be at least 1"),
        (lambda: Clustering(chains=1), "needs at least two chains"),
    ],
)
def test_bad_settings(make, sentence):
    with pytest.raises(StudyError, match=sentence):
        make()


def test_a_prior_that_cannot_be_built_is_one_sentence(tmp_path):
    with pytest.raises(StudyError, match="clustering study cannot be run on this map: beta of the cluster prior"):
        conduct(job(Clustering(beta=0.0)), tmp_path / "out", on_cores(1))
    assert not (tmp_path / "out").exists()


def test_designs_go_by_their_names():
    _, drawn_from = SMALL.prepare(RING)
    i, j = np.triu_indices(8, 1)
    expected = [uniform(8), naive_spatial(RING), principal_component(RING), optimal(communicability(RING), 3.0, 200)]
    for name, design in zip(DESIGNS, expected, strict=True):
        assert np.allclose(drawn_from[name].probability(i, j), design.probability(i, j)), name


def test_every_set_is_another_and_its_centred_utility_the_larger(finished):
    rows = finished[0].rows
    assert len({row["u1"] for row in rows}) == len(rows)
    assert all(row["u1"] > row["u1_uncentred"] for row in rows), "the unidentified mean adds variance"


@pytest.mark.statistical
def test_ratio_interval_covers():
    """95 % intervals of 2,000 simulated studies: the coverage's error is 0.005; five of them, false alarms 6e-7."""
    rng = np.random.default_rng(3)
    base = np.exp(rng.normal(size=(2000, 400)))
    values = base * np.exp(0.1 + 0.3 * rng.normal(size=base.shape))
    bounds = np.array([ratio_interval(value, uniform)[1:] for value, uniform in zip(values, base, strict=True)])
    covered = ((bounds[:, 0] < np.exp(0.1)) & (np.exp(0.1) < bounds[:, 1])).mean()
    assert abs(covered - 0.95) < 0.025
    planted = (bounds[:, 0] < 1.0) & (bounds[:, 1] > 1.0)
    assert planted.mean() < 0.5, "an interval around no effect would be noticed"


@pytest.mark.parametrize(
    "address", ["nonsense", "http://127.0.0.1:8786", "tcp://127.0.0.1", "tcp://127.0.0.1:x", "tcp://"]
)
def test_what_is_no_address(tmp_path, address):
    with pytest.raises(StudyError, match=r"a cluster's address looks like tcp://10\.0\.0\.1:8786"):
        conduct(job(), tmp_path / "out", on_cluster(address))


def greet(server, words):
    connection, _ = server.accept()
    with connection:
        connection.sendall(words)


@pytest.mark.parametrize("greeting", [b"", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["silent", "another server"])
def test_an_address_without_a_scheduler(tmp_path, monkeypatch, greeting):
    monkeypatch.setattr(backends, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if greeting:
            threading.Thread(target=greet, args=(server, greeting), daemon=True).start()
        with pytest.raises(StudyError, match=f"no Dask scheduler answers at {address}; check the address"):
            conduct(job(), tmp_path / "out", on_cluster(address))
    with pytest.raises(StudyError, match="no Dask scheduler answers"):
        conduct(job(), tmp_path / "out", on_cluster(address))
    assert not (tmp_path / "out").exists(), "the folder is as before"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
class TestCluster:
    """A real scheduler and real worker processes."""

    @pytest.fixture(scope="class")
    def cluster(self):
        from distributed import LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
            yield cluster

    def test_a_killed_worker_loses_no_set(self, tmp_path, cluster):
        study = Scheduling(comparisons=200, chains=2, draws=400)
        expected = conduct(job(study, sets=12), tmp_path / "here", on_cores(1))
        killed = []

        def kill_one(done, wanted):
            if done == 3:
                worker = next(iter(cluster.workers.values()))
                killed.append((worker.pid, wanted - done))
                os.kill(worker.pid, signal.SIGKILL)

        found = conduct(job(study, sets=12), tmp_path / "there", on_cluster(cluster.scheduler_address), kill_one)
        assert killed[0][1] == 9, "it was in the middle"
        assert found.rows == expected.rows
        files = sorted(path.name for path in (tmp_path / "there" / "sets").iterdir())
        assert files == [f"{number:04d}.json" for number in range(1, 13)]

    def test_timings_need_workers_of_one_thread(self, tmp_path):
        from distributed import LocalCluster

        with (
            LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as threads,
            pytest.raises(StudyError, match="several threads"),
        ):
            conduct(job(STUDIES[1]), tmp_path / "out", on_cluster(threads.scheduler_address))

    def test_a_cluster_without_workers(self, tmp_path, monkeypatch):
        from distributed import LocalCluster

        monkeypatch.setattr(backends, "PATIENCE", 2.0)
        with (
            LocalCluster(n_workers=0, dashboard_address=":0") as empty,
            pytest.raises(StudyError, match="has no worker; start one with: dask worker tcp://"),
        ):
            conduct(job(), tmp_path / "out", on_cluster(empty.scheduler_address))


QUICK = Robustness(comparisons=200, judges=3, chains=2, draws=20, warmup=20, behaviours=(), lengths=("few",))


def test_robustness_holds_each_case_against_the_truth_fit_by_fit(tmp_path):
    study = replace(QUICK, behaviours=("hot-spots",), truths=("plateaus",), panels=("alike", "unequal"))
    both = conduct(job(study, sets=1), tmp_path / "both", on_cores(1))
    assert both.summary()[["case", "fit"]].agg(tuple, axis=1).tolist() == [
        *(("hot-spots", fit) for fit in ("paper", "plain", "remedy")),
        *((f"plateaus, {panel}, few", fit) for panel in ("alike", "unequal") for fit in ("paper", "plain")),
    ]
    assert all(0 <= row[measure] <= 1 for row in both.rows for measure in ("risk", "scaled", "ranks", "r2", "claimed"))
    less = replace(study, panels=("unequal",), fits=("plain",))
    one = conduct(job(less, sets=1), tmp_path / "one", on_cores(1))
    wanted = [("hot-spots", "plain"), ("hot-spots", "remedy"), ("plateaus, unequal, few", "plain")]
    assert one.rows == [row for row in both.rows if (row["case"], row["fit"]) in wanted]


def test_robustness_on_real_maps(tmp_path, wards):
    table = tmp_path / "measured.csv"
    rows = [f"W{i},Ward {i},{i * i},7" for i in range(wards[1])]
    table.write_text("\n".join(["code,label,income,constant", *rows, "elsewhere,x,1,1"]))
    real = read_real(table, wards[0], ["North"])
    assert real["North"].columns["income"].tolist() == [0, 1, 4, 9]
    assert list(real["North"].columns) == ["income"], "words and constants are no truths"
    study = replace(QUICK, truths=(), real=real, panels=("alike",), fits=("paper", "car-differ"))
    results = conduct(job(study, sets=1), tmp_path / "out", on_cores(1))
    cases = [(row["case"], row["fit"]) for row in results.rows]
    assert cases == [("North: income, alike, few", fit) for fit in ("paper", "car-differ")]
    assert conduct(job(study, sets=1), tmp_path / "out", on_cores(1)).rows == results.rows
    other = {"North": real["North"]._replace(columns={"income": np.arange(4.0)})}
    with pytest.raises(StudyError, match="real = "):
        conduct(job(replace(study, real=other), sets=1), tmp_path / "out", on_cores(1))


@pytest.fixture
def wards(tmp_path):
    """A boundary file of six squares in a row, four of them in the north; and how many there are."""
    names = [f"North {i}" for i in range(4)] + ["South 1", "South 2"]
    squares = [shapely.box(1000 * i, 0, 1000 * (i + 1), 1000) for i in range(6)]
    frame = geopandas.GeoDataFrame({"code": [f"W{i}" for i in range(6)], "name": names}, geometry=squares, crs=27700)
    frame.to_file(tmp_path / "wards.gpkg")
    return tmp_path / "wards.gpkg", 6


@pytest.mark.parametrize(
    ("columns", "places", "sentence"),
    [
        ("code,income\nW0,1", ["North"], "area 'W1' of North has no row"),
        ("code,label\n" + "\n".join(f"W{i},x" for i in range(4)), ["North"], "no column has different numbers"),
        ("code,income\nW0,1", ["South"], "fewer than three areas have names that begin with 'South'"),
    ],
)
def test_real_maps_that_cannot_be_tried(tmp_path, wards, columns, places, sentence):
    (tmp_path / "measured.csv").write_text(columns)
    with pytest.raises(StudyError, match=sentence):
        read_real(tmp_path / "measured.csv", wards[0], places)


def test_coverage_of_a_known_posterior():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=400)
    estimate = truth + 0.5 * rng.normal(size=400)
    honest, sure = (cover(estimate + sd * rng.normal(size=(800, 400)), truth) for sd in (0.5, 0.1))
    assert honest.risk == pytest.approx(0.95, abs=0.04)
    assert sure.risk < 0.4
    wide = cover(3 * (estimate + 0.5 * rng.normal(size=(800, 400))), truth)
    assert wide.scaled == pytest.approx(honest.scaled, abs=0.02)
    assert honest.r2 == pytest.approx(1 / 1.25, abs=0.05)


def test_chains_that_do_not_agree_are_named_beside_the_summary():
    row = {"ess_min": 10.0, "ess_median": 50.0, "ess_max": 90.0, "ess_log_variance": 20.0, "setup_seconds": 2.0}
    row |= {"seconds": 0.5, "acceptance": 1.0}
    rhats = {"gibbs": 1.005, "single-site": 1.2, "block-walk": 2.5, "hmc": 1.0, "caron-doucet": 1.0}
    rows = [{"sampler": name, "rhat_max": rhat, **row} for name, rhat in rhats.items()]
    sets = tuple(SetResult(number, rows, 1.0) for number in (1, 2))
    said = Results(Job(Scalability(), AreaGraph(3, [[0, 1], [1, 2]]), 2, 1), sets).remarks()
    assert [each.partition(":")[0] for each in said] == ["single-site", "block-walk"]
    assert "in 0 of 2 sets, and the largest R-hat is 1.200" in said[0]
