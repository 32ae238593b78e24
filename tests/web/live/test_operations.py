"""What whoever runs a server meets: a full disk, a database that is away, servers that start at once, and figures."""

import json
import shutil
import subprocess
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
from steps import wait_until

pytestmark = pytest.mark.slow
"""Servers in processes of their own; the parts are tested in tests/web/server."""


@pytest.fixture
def small_disk(servers):
    """A server whose data folder is its own file system of 48 MB."""
    live = servers("small", processes=1)
    data = live.folder / "data"
    data.mkdir(parents=True)
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(data)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("only root can mount a small disk")
    yield live.start()
    live.stop()
    subprocess.run(["umount", str(data)], check=True)


def test_a_full_disk_loses_no_answer_and_fails_the_health_check(small_disk, areas):
    slug, judge = small_disk.with_judge(areas, recommended=2000, maximum=2000)
    pair = judge.pair()["pair"]
    filler = small_disk.folder / "data" / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while shutil.disk_usage(filler.parent).free or file.write(bytes(1)):
            file.write(bytes(4096))
    wait_until(lambda: small_disk.request("GET", "/healthz").status == 503)
    stored = 0
    while (response := judge.answer(pair, "left")).status == 200:
        stored, pair = stored + 1, json.loads(response.data)["pair"]
        assert stored < 2000, "the disk never was full"
    assert response.status == 503
    assert "cannot save anything" in response.data.decode()
    filler.unlink()
    wait_until(lambda: small_disk.request("GET", "/healthz").status == 200)
    assert judge.answer(pair, "left").status == 200, "the same answer, sent again"
    assert len([row for row in small_disk.comparisons(slug) if row["answered_at"]]) == stored + 1
    assert "Traceback" not in small_disk.log


def test_servers_that_start_at_once_on_an_empty_database_all_live(new_server, servers):
    new_server.folder.mkdir()
    several = [replace(new_server, port=servers("free").port, processes=1) for _ in range(3)]
    threads = [threading.Thread(target=each.start) for each in several]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    try:
        wait_until(lambda: all(each.request("GET", "/healthz").status == 200 for each in several))
        assert "Traceback" not in new_server.log
    finally:
        for each in several:
            each.stop()


@pytest.mark.postgres
def test_an_outage_is_answered_with_503_and_one_line_in_the_log(postgres, database, servers, areas):
    live = servers("away", database("away"), processes=1, settings={"JUDGEMAP_DATABASE_CONNECTIONS": "4"}).start()
    _, judge = live.with_judge(areas)
    pair = judge.pair()["pair"]
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'away' AND pid <> pg_backend_pid();"
    hits = [threading.Thread(target=judge.pair) for _ in range(16)]
    for each in hits:
        each.start()
    for each in hits:
        each.join()
    assert int("".join(filter(str.isdigit, postgres.psql(sessions).split("---")[-1].split("(")[0]))) <= 4 + 1
    postgres.psql('ALTER DATABASE "away" ALLOW_CONNECTIONS false;')
    postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'away';")
    statuses = {judge.answer(pair, "left").status for _ in range(5)}
    assert statuses == {503}
    assert live.request("GET", "/healthz").status == 503
    assert "Traceback" not in live.log
    assert live.log.count("the database cannot be used") == 1
    postgres.psql('ALTER DATABASE "away" ALLOW_CONNECTIONS true;')
    wait_until(lambda: judge.answer(pair, "left").status == 200)


def test_figures_for_prometheus_are_those_of_all_processes(servers, areas):
    port = servers("free").port
    live = servers("figures", options=("--metrics-port", str(port))).start()
    _, judge = live.with_judge(areas)
    for _ in range(10):  # each on its own connection, so that both processes get some
        assert judge.answer(judge.pair()["pair"], "left").status == 200
    page = replace(live, port=port).request("GET", "/metrics").data.decode()
    assert 'judgemap_requests_total{kind="answer",status="200"} 10.0' in page
    assert "judgemap_healthy 1.0" in page
    assert judge.token not in page
    assert live.request("GET", "/metrics").status == 404, "not where judges are"
