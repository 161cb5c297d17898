"""The README is true: its Python runs as it stands, and so do its commands, on a smaller data set."""

import gzip
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

README = Path(__file__).parent.parent / "README.md"
DATES = ["data.train_size=60", "data.valid_size=5", "data.test_size=5"]
RECURRENT = ["model.embedding_size=8", "model.hidden_size=8"]
SHORT = ["train.steps=2", "train.threads=1", "search.max_length=12"]
# What is trained that does not write text, and what makes it small.
OTHERS = {
    "attention_mil": ["model.hidden_sizes=[8]"],
    "se_resnet": ["model.channels=4", "train.batch_size=8"],
    "gpt-shakespeare": ["model.hidden_size=8", "model.num_heads=2", "model.num_layers=1"],
    "document_attention": [],
}


def small(line: str) -> list[str]:
    """Words that make a training of the README short."""
    for name, words in OTHERS.items():
        if name in line:
            return [*words, "train.steps=2", "train.threads=1"]
    return RECURRENT + SHORT + (DATES if "data.train=" not in line else [])


def blocks(kind: str, page: Path = README) -> list[str]:
    """The code blocks of a kind."""
    return re.findall(rf"```{kind}\n(.*?)```", page.read_text(), re.DOTALL)


def test_every_python_block_runs() -> None:
    operator = blocks("python", README.parent / "docs" / "operator.md")
    assert len(operator) >= 4
    script = "\n".join([*blocks("python"), *operator])
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def commands(block: str) -> list[str]:
    """All lines that run saccade, without their comments."""
    lines = [re.sub(r"\s+#.*", "", line) for line in block.splitlines()]
    return [line for line in lines if "saccade " in line]


BLOCKS = [block for block in blocks("sh") if commands(block)]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A directory with the files that the README speaks of."""
    place = tmp_path
    (place / "my.tsv").write_text("".join(f"{n} mal\t{n} times\n" for n in range(40)))
    (place / "reviews.tsv").write_text("".join(f"film {n}\t{'good' if n % 2 else 'bad'}\n" for n in range(40)))
    reviews = "".join(f'{n},"film {n}, again",{n % 2}\n' for n in range(40))
    (place / "reviews.csv").write_text("id,review,stars\n" + reviews)
    rows = "".join(f"{n // 3},{'yes' if n // 3 % 2 else 'no'},{n % 5},{n % 7}\n" for n in range(60))
    (place / "bags.csv").write_text("bag,label,size,weight\n" + rows)
    for label in ("cat", "dog"):
        (place / "photos" / label).mkdir(parents=True)
        for number in range(6):
            pixels = np.full((40, 40, 3), 20 * number + (label == "dog"), np.uint8)
            Image.fromarray(pixels).save(place / "photos" / label / f"{number}.png")
    shakespeare = place / "data" / "tinyshakespeare"
    shakespeare.mkdir(parents=True)
    (shakespeare / "input.txt.gz").write_bytes(gzip.compress(b"ROMEO:\nO, speak again!\n\nJULIET:\nAy me!\n" * 40))
    return place


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: "-".join(commands(block)[0].split()[1:3]))
def test_every_command_runs(block: str, workplace: Path) -> None:
    """A block at a time, in its order; trainings are made short, those of one name go to their own directory."""
    command = shlex.join([sys.executable, "-m", "saccade"])
    for number, line in enumerate(commands(block)):
        short = line + (" " + shlex.join(small(line)) if " train " in line else "")
        short += f" --out runs/{number}" if "data.train=" in line else ""
        verbs = "train|evaluate|predict|translate|look|generate|runs|plot|new-project|models|plan"
        shell = re.sub(rf"\bsaccade (?={verbs})", lambda match: command + " ", short)
        environment = {**os.environ, "SACCADE_DATA": str(workplace / "data")}
        done = subprocess.run(shell, shell=True, cwd=workplace, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    if "look.html" in block:  # the run that the page then opens in Python
        assert (workplace / "look.html").stat().st_size > 10_000
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(blocks("py")).replace("runs/demo", "runs/dates")],
            cwd=workplace,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


def test_the_page_has_commands_and_what_opens_their_run() -> None:
    assert BLOCKS
    assert sum("look.html" in block for block in BLOCKS) == 1
    assert len(blocks("py")) == 2


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((README.parent / "docs").glob("*.md")))],
)
def test_links_lead_somewhere(page: str) -> None:
    path = README.parent / page
    links = [link for link in re.findall(r"\]\(([^)]+)\)", path.read_text()) if "://" not in link]
    assert all((path.parent / link).exists() for link in links), links


def test_scripts_can_be_run() -> None:
    assert all(os.access(README.parent / "scripts" / name, os.X_OK) for name in ("demo", "test", "check"))
