"""Writes a small project to begin from: a data sample, a recipe, a notebook and a README."""

import shutil
from pathlib import Path

from saccade.errors import UsageError

TEMPLATE = Path(__file__).parent / "project"


def new_project(path: Path) -> None:
    """Fill a new or empty directory, and say what to do next."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path}: expected a new or empty directory for the project, got one in use; choose another")
    try:
        shutil.copytree(TEMPLATE, path, dirs_exist_ok=True, copy_function=shutil.copyfile)
    except (OSError, shutil.Error) as error:
        raise UsageError(f"{path}: cannot be written ({error}); choose another directory") from None
    print(f"done: {path} holds {', '.join(sorted(str(file.relative_to(path)) for file in path.rglob('*.*')))}")
    print(f"next: cd {path}\n      saccade train reviews.toml\n      saccade evaluate runs/reviews")
