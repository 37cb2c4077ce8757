"""One thread for the products of a ranking.

A product of a scope's vectors takes a millisecond or two; waking BLAS's threads for it costs more than it saves, and
searches that run side by side would fight for the cores.
"""

import ctypes
from functools import lru_cache
from pathlib import Path

import numpy as np

_SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads")


@lru_cache(maxsize=1)
def hold_blas_to_one_thread() -> bool:
    """Tell the OpenBLAS that numpy ships to use one thread in this process; says whether one was found.

    A numpy built on another BLAS is left alone: set `OMP_NUM_THREADS=1` there. Called once when an application opens,
    never at import, because the setting holds for everything in the process that multiplies with numpy.
    """
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            library = ctypes.CDLL(str(path))
            for name in _SETTERS:
                if hasattr(library, name):
                    getattr(library, name)(ctypes.c_int(1))
                    return True
    return False
