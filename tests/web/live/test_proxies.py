"""nginx and Caddy as docs/deployment.md configures them: https works, and half-sent requests keep nobody waiting."""

import re
import shutil
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
DOCUMENT = Path(__file__).parents[3] / "docs" / "deployment.md"
NAME = "studies.example.org"
SLOW = 300


@pytest.fixture(scope="module")
def server(lasting_servers):
    return lasting_servers("proxies", processes=1, settings={"JUDGEMAP_URL": f"https://{NAME}"}).start()


@pytest.fixture(scope="module")
def certificate(long_path) -> tuple[Path, Path]:
    """A certificate that nobody vouches for."""
    pem, key = long_path / "proxy.pem", long_path / "proxy.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"]
    subprocess.run([*made, "-keyout", str(key), "-out", str(pem)], check=True, capture_output=True)
    return pem, key


def documented(beginning: str) -> str:
    """Return the block of the documentation that begins with a line."""
    blocks = re.findall(r"```\w*\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if block.startswith(beginning))


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request, server, servers, certificate, tmp_path):
    """Start a proxy by the documented configuration, with this test's ports and certificate in it."""
    program = shutil.which(request.param) or shutil.which(f"/usr/sbin/{request.param}")
    if program is None:
        pytest.skip(f"there is no {request.param}: apt-get install {request.param}")
    (pem, key), port = certificate, servers("free").port
    backend = f"127.0.0.1:{server.port}"
    if request.param == "nginx":
        site = documented("server {").replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        site = site.replace("/etc/ssl/studies.pem", str(pem)).replace("/etc/ssl/studies.key", str(key))
        site = site.replace("127.0.0.1:8000", backend)
        own = f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error;\n{documented('events')}"
        temporary = "".join(f"{each}_temp_path {tmp_path}/{each};\n" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))  # fmt: skip  # noqa: E501
        config = tmp_path / "nginx.conf"
        config.write_text(f"{own}http {{\n{temporary}{site}}}\n")
        command = [program, "-c", str(config), "-p", str(tmp_path), "-e", str(tmp_path / "error")]
    else:
        site = documented(f"{NAME} {{").replace(f"{NAME} {{", f"https://{NAME}:{port} {{\ntls {pem} {key}\n", 1)
        config = tmp_path / "Caddyfile"
        config.write_text(f"{{\nadmin off\nauto_https disable_redirects\n}}\n{site.replace('127.0.0.1:8000', backend)}")
        command = [program, "run", "--config", str(config), "--adapter", "caddyfile"]
    with (tmp_path / "log").open("w") as log:
        running = subprocess.Popen(
            command, stdout=log, stderr=log, env={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
        )
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert running.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.1)
    yield port
    running.terminate()
    running.wait(20)


def ask(port: int, request: bytes) -> bytes:
    """Send a request over TLS, and return the whole response."""
    unverified = ssl._create_unverified_context()  # noqa: S323 - the test's own certificate
    with (
        socket.create_connection(("127.0.0.1", port), 20) as raw,
        unverified.wrap_socket(raw, server_hostname=NAME) as tls,
    ):
        tls.sendall(request)
        return b"".join(iter(lambda: tls.recv(65536), b""))


def get(port: int, path: str) -> bytes:
    return ask(port, f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode())


def test_pages_come_over_https_with_secure_cookies(proxy):
    page = get(proxy, "/account/login/")
    assert page.startswith(b"HTTP/1.1 200")
    assert re.search(rb"(?i)strict-transport-security: max-age=31536000", page)
    assert re.search(rb"(?i)set-cookie: csrftoken=.*secure", page)


def test_judges_are_served_while_slow_clients_send_half_a_request(proxy):
    half = f"POST /j/x/answer HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 100000\r\n\r\nhalf".encode()
    unverified = ssl._create_unverified_context()  # noqa: S323 - the test's own certificate
    slow = []
    try:
        for _ in range(SLOW):
            raw = socket.create_connection(("127.0.0.1", proxy), 20)
            slow.append(unverified.wrap_socket(raw, server_hostname=NAME))
            slow[-1].sendall(half)
        assert all(get(proxy, "/healthz").startswith(b"HTTP/1.1 200") for _ in range(20))
    finally:
        for each in slow:
            each.close()
