"""The layers below the study server are tested without it: Django is not even imported."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys, pytest
status = pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "--collect-only", *sys.argv[1:]])
print(status, sorted({name.split(".")[0] for name in sys.modules} & {"django"}), "judgemap.web" in sys.modules)
"""


def test_tests_of_the_core_import_no_django():
    layers = ["tests/core/approximate/test_newton.py", "tests/geo/test_labels.py", "src/judgemap/core/types.py"]
    outside = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    found = {}
    for args in (layers, ["src/judgemap/web/server/tokens.py"]):
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, *args], cwd=ROOT, env=outside, capture_output=True, text=True, check=True
        )
        found[args[0]] = ran.stdout.splitlines()[-1]
    assert list(found.values()) == ["0 [] False", "0 ['django'] True"]
