"""What the deployment files promise: linted where a linter is there, and named in the documentation."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
UNIT = CHECKOUT / "deploy" / "judgemap.service"
COMPOSE = CHECKOUT / "compose.yaml"


def test_the_container_file_passes_hadolint():
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("hadolint is not installed")
    done = subprocess.run([linter, CHECKOUT / "Containerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_container_runs_as_nobody_in_particular_with_one_volume():
    lines = (CHECKOUT / "Containerfile").read_text(encoding="utf-8").splitlines()
    last = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM")) :]
    assert "USER 10001:10001" in last
    assert [line for line in last if line.startswith("VOLUME")] == ["VOLUME /data"]
    assert any(line.startswith("HEALTHCHECK") for line in last)


def test_the_unit_passes_systemds_own_check(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    program = "/opt/judgemap/bin/judgemap"
    assert program in text
    copy.write_text(text.replace(program, shutil.which("true")), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_services_of_the_compose_file():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    assert set(services) == {"server", "worker", "database", "proxy"}
    for name in ("server", "worker"):
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
        assert "JUDGEMAP_MAIL" in services[name]["environment"]
        assert "outside" in services[name]["networks"], "the network inside reaches no mail server"
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"], "only the proxy is open"
    assert services["database"]["networks"] == ["inside"]


def test_a_release_is_of_one_version(tmp_path):
    """What the release workflow asks of a tag: the same version in pyproject.toml, CITATION.cff and r/DESCRIPTION."""
    workflow = (CHECKOUT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    step = workflow.partition("- name: The tag is the version everywhere")[2].partition("      - ")[0]
    script = "\n".join(line.strip() for line in step.partition("run: |")[2].splitlines())
    version = re.search(r'^version = "(\d+\.\d+\.\d+)', (CHECKOUT / "pyproject.toml").read_text(), re.MULTILINE)[1]

    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "r/DESCRIPTION"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        text = (CHECKOUT / name).read_text(encoding="utf-8").replace(f"{version}.dev0", version)
        (tmp_path / name).write_text(text.replace("(unreleased)", "(1 May 2027)"), encoding="utf-8")

    def passes(tag):
        environment = os.environ | {"GITHUB_REF_NAME": tag}
        return subprocess.run(["sh", "-ec", script], cwd=tmp_path, env=environment, check=False).returncode == 0

    assert passes(f"v{version}")
    assert not passes("v9.9.9")
    (tmp_path / "CITATION.cff").write_text("version: 0.1.0\n")
    assert not passes(f"v{version}")


def test_the_proxy_bounds_slow_clients_and_keeps_no_log():
    text = (CHECKOUT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
    for bound in ("read_header", "read_body", "idle", "max_size"):
        assert bound in text
    assert "\tlog" not in text
    if shutil.which("caddy") is None:
        pytest.skip("caddy is not installed, so its own check is left out")
    words = ["caddy", "validate", "--adapter", "caddyfile", "--config", CHECKOUT / "deploy" / "Caddyfile"]
    env = {"JUDGEMAP_HOST": "studies.example.org", "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr


def test_every_file_is_named_in_the_documentation():
    page = (CHECKOUT / "docs" / "deployment.md").read_text(encoding="utf-8")
    for name in ("Containerfile", "compose.yaml", "deploy/Caddyfile", "deploy/judgemap.service"):
        assert (CHECKOUT / name).is_file()
        assert name in page
