"""What pre-training is worth where labels are few: a pre-trained encoder beside the same model from nothing.

python benchmarks/few_labels.py runs/bert-reviews                                     500 labels, 3 seeds
python benchmarks/few_labels.py runs/bert-reviews --sizes 100 500 2000 --out few.svg  more labels, and a picture
python benchmarks/few_labels.py runs/bert-reviews --quick                             one small training of each, no seeds

Each seed draws labels of its own. The model from nothing has the same sizes, reads with tokens learned from the labelled
sentences, and has all settings but its learning rate in common; the rate is chosen for either, by the validation accuracy
of seed 0 with 500 labels, and the best step by validation, too. The test is scored once, by the chosen models. What is
done is kept in a file (--rows), a line each, so the same command goes on.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import saccade
from saccade import config
from saccade.view.charts.line_chart import Chart, Series, line_chart
from saccade.view.output import saving

RATES = (3e-4, 1e-3)
FEW = 500  # labels that learning rates are chosen with
CORPORA = {"sst2": "SST-2", "trec": "TREC"}
Line = tuple[str, int, list[float], list[float]]
SIZES = ("hidden_size", "num_layers", "num_heads", "intermediate_size", "dropout", "attention_dropout")


@dataclass(frozen=True)
class Row:
    """One training: what it was, and its accuracy."""

    corpus: str
    labels: int
    seed: int
    pretrained: bool
    rate: float
    valid: float
    test: float


class Trials:
    """Trainings beside a pre-trained run; those that a file has are not made again."""

    def __init__(self, run: Path, rows: Path, steps: int) -> None:
        self.run, self.file, self.steps = run, rows, steps
        lines = rows.read_text().splitlines() if rows.exists() else []
        self.rows = [Row(**json.loads(line)) for line in lines]
        table = config.read(run / "config.toml")
        self.tokens: dict[str, Any] = table["tokens"]
        self.model = {key: value for key, value in table["model"].items() if key in SIZES}
        self.length: int = table["reader"]["max_length"]

    def of(self, corpus: str, labels: int, seed: int, rate: float, *, pretrained: bool) -> Row:
        """What came of a training; it is made if it has to be."""
        for row in self.rows:
            key = (row.corpus, row.labels, row.seed, row.rate, row.pretrained)
            if key == (corpus, labels, seed, rate, pretrained):
                return row
        row = self._trained(corpus, labels, seed, rate, pretrained=pretrained)
        self.rows.append(row)
        with self.file.open("a") as file:
            file.write(json.dumps(asdict(row)) + "\n")
        print(row, flush=True)
        return row

    def _trained(self, corpus: str, labels: int, seed: int, rate: float, *, pretrained: bool) -> Row:
        data = {"name": "sentences", "corpus": corpus, "train_size": labels, "train_draw": seed}
        train = {"seed": seed, "learning_rate": rate, "steps": self.steps, "warmup": 30, "threads": 1}
        train |= {"valid_every": max(1, self.steps // 3), "save_every": self.steps}
        own = {"start": self.run} if pretrained else {"tokens": self.tokens, "model": self.model}
        with tempfile.TemporaryDirectory() as folder:
            settings: dict[str, Any] = {"data": data, "train": train, "reader": {"max_length": self.length}, **own}
            model = saccade.train("bert", out=Path(folder) / "run", task="label", quiet=True, **settings)
            found = [model.evaluate(split=part).scores["all"]["accuracy"] for part in ("valid", "test")]
        return Row(corpus, labels, seed, pretrained, rate, *found)

    def rate(self, corpus: str, *, pretrained: bool) -> float:
        """The learning rate with the best validation accuracy."""
        return max(RATES, key=lambda rate: self.of(corpus, FEW, 0, rate, pretrained=pretrained).valid)


def lines(trials: Trials, corpora: list[str], sizes: list[int], seeds: int) -> Iterator[Line]:
    """For each set and number of labels the test accuracies from nothing and pre-trained, seed by seed."""
    for labels in sizes:
        for corpus in corpora:
            both: list[list[float]] = []
            for pretrained in (False, True):
                rate = trials.rate(corpus, pretrained=pretrained)
                rows = [trials.of(corpus, labels, seed, rate, pretrained=pretrained) for seed in range(seeds)]
                both.append([100 * row.test for row in rows])
            yield corpus, labels, both[0], both[1]


def shown(values: list[float]) -> str:
    """Mean and standard deviation."""
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{spread}"


def picture(found: list[Line], seeds: int) -> str:
    """Accuracy against the number of labels, a line for each set with pre-training and without."""
    sizes = sorted({row[1] for row in found})
    series = [
        Series(f"{CORPORA[corpus]}, {name}", [statistics.fmean(row[2 + number]) for row in found if row[0] == corpus])
        for corpus in dict.fromkeys(row[0] for row in found)
        for number, name in ((1, "pre-trained"), (0, "from nothing"))
    ]
    title = "A small BERT, pre-trained on reviews and news, and from nothing"
    note = f"Test accuracy, mean of {seeds} seeds, each with labels of its own."
    names = [f"{size:,}" for size in sizes]
    across = "labelled sentences; below, trainings of a point"
    return line_chart(Chart(title, names, [seeds] * len(sizes), series, across=across, up="accuracy, %", note=note))


def main() -> None:
    parser = argparse.ArgumentParser(description="A pre-trained encoder beside the same from nothing, with few labels.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpora", nargs="+", choices=[*CORPORA], default=[*CORPORA])
    parser.add_argument("--sizes", nargs="+", type=int, default=[FEW])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=Path, default=Path("few_labels.jsonl"), help="where what is done is kept")
    parser.add_argument("--out", type=Path, help="a picture: .svg")
    parser.add_argument("--quick", action="store_true", help="one short training of each, at most a minute")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = Path(tempfile.mkdtemp()) / "rows.jsonl" if options.quick else options.rows
    trials = Trials(options.run, rows, 30 if options.quick else 300)
    corpora, seeds = (["trec"], 1) if options.quick else (options.corpora, options.seeds)
    found = list(lines(trials, corpora, sorted(options.sizes), seeds))
    print("| set, labels | from nothing | pre-trained | apart |\n|---|---|---|---|")
    for corpus, labels, without, given in found:
        apart = statistics.fmean(given) - statistics.fmean(without)
        print(f"| {CORPORA[corpus]}, {labels:,} | {shown(without)} | {shown(given)} | {apart:+.1f} |")
    if options.out:
        saving.save_drawing(picture(found, seeds), options.out)


if __name__ == "__main__":
    main()
