"""Upgrade a database of version 0.1.0 with a million answers, and time it: that is how long judges have to wait."""

import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from ground import ROOT, Live, keep, scratch

ANSWERS = 1_000_000
RELEASE = ROOT / "tests" / "earlier" / "0.1.0" / "server.tar.xz"


def run(*, quick: bool) -> None:
    """Run on SQLite; on PostgreSQL no migration since 0.1.0 touches the tables of answers."""
    with scratch() as folder:
        shutil.unpack_archive(RELEASE, folder, filter="data")
        answers = fill(folder / "data" / "judgemap.sqlite3", 10_000 if quick else ANSWERS)
        environment = Live(folder).environment
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "judgemap", "study", "upgrade", "--data", str(folder / "data")]
        subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        size = round((folder / "data" / "judgemap.sqlite3").stat().st_size / 1e6)
        seconds = {"wall seconds": round(time.perf_counter() - began, 1), "cpu seconds": round(cpu, 1)}
        keep("migration", {"answers": answers, "database_mb": size, **seconds}, quick=quick)


def fill(path: Path, answers: int) -> int:
    """Copy a judge's pairs and answers until there are ``answers`` of them."""
    with closing(sqlite3.connect(path)) as database:
        names = {}
        for table in ("judge_judge", "judge_pair", "judge_answer"):
            names[table] = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        (judge,) = database.execute(
            "SELECT judge_id FROM judge_pair GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
        ).fetchone()
        pairs = database.execute("SELECT max(id) FROM judge_pair").fetchone()[0]
        each = database.execute("SELECT count(*) FROM judge_pair WHERE judge_id = ?", [judge]).fetchone()[0]
        for number in range(-(-answers // each)):
            swaps = {
                "judge_judge": {"name": f"'c{number}'", "token_hash": f"'t{number}'", "withdrawal_hash": f"'{number}'"},
                "judge_pair": {
                    "id": f"id + {(number + 1) * (pairs + 1)}", "token": f"token || '{number}'",
                    "judge_id": f"'c{number}'",
                },
                "judge_answer": {"id": "NULL", "pair_id": f"pair_id + {(number + 1) * (pairs + 1)}"},
            }  # fmt: skip
            for table, columns in names.items():
                chosen = ", ".join(swaps[table].get(name, f'"{name}"') for name in columns)
                where = {
                    "judge_judge": "name = :judge",
                    "judge_pair": "judge_id = :judge",
                    "judge_answer": "pair_id IN (SELECT id FROM judge_pair WHERE judge_id = :judge)",
                }[table]
                database.execute(f"INSERT INTO {table} SELECT {chosen} FROM {table} WHERE {where}", {"judge": judge})  # noqa: S608
        database.commit()
        return int(database.execute("SELECT count(*) FROM judge_answer").fetchone()[0])
