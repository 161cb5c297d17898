"""The page on pooling is true: its Python runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "pooling.md"


def test_every_python_block_runs(tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    script += "\nassert round(estimator.bandwidth_, 2) == 0.13, estimator.bandwidth_\n"
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "look.svg").exists()
