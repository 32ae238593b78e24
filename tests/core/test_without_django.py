"""The layers below the study server are tested without it: Django is not even imported."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys, pytest
for args in (["tests/core/approximate/test_gaussian.py", "tests/geo/test_labels.py", "src/judgemap/core/types.py"],
             ["src/judgemap/web/server/tokens.py"]):
    status = pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "--collect-only", *args])
    print("SEEN", status, "django" in sys.modules, "judgemap.web" in sys.modules)
"""


def test_tests_of_the_core_import_no_django():
    outside = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=outside, capture_output=True, text=True, check=True
    )
    seen = [line for line in ran.stdout.splitlines() if line.startswith("SEEN")]
    assert seen == ["SEEN 0 False False", "SEEN 0 True True"], (
        "the second, of the server, shows that the first can fail"
    )
