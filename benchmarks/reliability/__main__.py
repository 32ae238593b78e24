"""Try to hurt the server, on this machine and over loopback, for a limited time; print what happened.

    .venv/bin/python benchmarks/reliability             all trials, about three hours
    .venv/bin/python benchmarks/reliability --quick     the same with fewer repetitions, a few minutes
    .venv/bin/python benchmarks/reliability kills soak  some of them

docs/reliability.md says what each one does. Full runs write benchmarks/results/reliability/.
"""

import argparse
from importlib import import_module

TRIALS = ("drills", "kills", "slow", "disk", "clock", "outage", "uploads", "fuzz", "soak")


def main() -> None:
    """Read the options, and run the trials one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", nargs="*", choices=[*TRIALS, []], help="all, if left out")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions; nothing is written")
    options = parser.parse_args()
    for name in options.trials or TRIALS:
        import_module(name).run(quick=options.quick)


if __name__ == "__main__":
    main()
