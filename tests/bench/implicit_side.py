"""Run implicit's item-item cosine on the same split, in its own virtual environment because it needs an older numpy.

As a program in that environment, ``python implicit_side.py SPLIT.npz`` prints its measurements.
"""

import json
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[2] / "var" / "implicit"
NEEDS = ("implicit==0.7.2", "numpy==1.26.4", "scipy==1.13.1")
NEIGHBOURS = (20, 64)  # the default of implicit, and the number of this project


def run(split: Path) -> dict[str, Any] | str:
    """Return the best hit rates of ``CosineRecommender`` and its seconds, or the reason of a failure.

    split: arrays ``users`` and ``items`` (past purchases), ``who``, ``last`` and ``then`` (users to recommend to, their
    last purchase, and their next purchase). All are numbered from 0.
    """
    python = HOME / "bin" / "python"
    try:
        if not python.exists():
            venv.create(HOME, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *NEEDS], check=True, capture_output=True)
        said = subprocess.run([str(python), __file__, str(split)], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        text = reason.decode() if isinstance(reason, bytes) else reason
        return f"it could not be installed or run: {text.strip().splitlines()[-1]}"
    found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return found


def _measure(path: str) -> dict[str, Any]:
    import numpy as np
    from implicit.nearest_neighbours import CosineRecommender  # type: ignore[import-not-found]
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    split = np.load(path)
    bought = csr_matrix((np.ones(len(split["users"])), (split["users"], split["items"])))
    who, last, then = split["who"], split["last"], split["then"]
    best = {"basket": 0.0, "page": 0.0, "seconds": 0.0}
    for neighbours in NEIGHBOURS:
        start = time.perf_counter()
        model = CosineRecommender(K=neighbours + 1)  # each book is its own nearest neighbour
        model.fit(bought, show_progress=False)
        best["seconds"] = time.perf_counter() - start
        found, _ = model.recommend(who, bought[who], N=10, filter_already_liked_items=True)
        best["basket"] = max(best["basket"], float((found == then[:, None]).any(axis=1).mean()))
        near, _ = model.similar_items(np.arange(bought.shape[1]), N=11)
        page = (near[last] == then[:, None]).any(axis=1)  # excludes the book itself, which was already bought
        best["page"] = max(best["page"], float(page.mean()))
    return best


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1])))
