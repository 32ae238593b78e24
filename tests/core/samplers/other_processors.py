"""Environments in which the libraries compute as they would on another processor of the same family.

OpenBLAS chooses its kernels by processor; NumPy, the C library and numba use fused multiply-add, which rounds once
where others round twice, wherever there is one. A process started in one of these environments chooses accordingly.
"""

import os

WITHOUT_FMA = {"NPY_DISABLE_CPU_FEATURES": "X86_V3", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"}
PROCESSORS: dict[str, dict[str, str]] = {
    "Haswell": {},
    "Haswell, 2 threads": {},
    "Zen": {},
    "Zen, 2 threads": {},
    "Sandybridge": WITHOUT_FMA | {"NUMBA_CPU_NAME": "sandybridge"},
    "Nehalem": WITHOUT_FMA | {"NUMBA_CPU_NAME": "nehalem"},
    "Nehalem, 2 threads": WITHOUT_FMA,
}
"""The last keeps this processor's compiled code, because compiling for another takes half a minute."""


def environment(processor: str) -> dict[str, str]:
    """This process's environment, with what makes a new one compute as on that processor."""
    kernels, _, threads = processor.partition(", ")
    chosen = {"OPENBLAS_CORETYPE": kernels, "OPENBLAS_NUM_THREADS": threads[:1] or "1"}
    rest = {key: value for key, value in os.environ.items() if key not in PROCESSORS["Nehalem"]}
    return rest | chosen | PROCESSORS[processor]
