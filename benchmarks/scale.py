"""Two processes of one thread each beside one process of two threads; and what sharding saves.

python benchmarks/scale.py            Multi30k de-en, GPT-2 on characters, an LSTM; a Transformer of 60M parameters
python benchmarks/scale.py --quick    at most a minute: the LSTM alone, whose products are too small for two threads

Every number is that of the command a user types, with `--processes 2` or without, read from its log: tokens per second
after the first steps, in turn over several rounds; memory that a process has more than one that trains a tiny model in the
same way, both printed. How a start grows with its data is measured by `data.py`.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit import Report, arguments

SKIPPED = 10  # first steps, in which kernels are loaded and memory is laid out
EVERY = 5  # steps between two lines of the log
PEER = "one process"
SMALL = "laptops-atae, small products"
CASES: dict[str, list[str]] = {
    "multi30k-de-en": ["multi30k-de-en"],
    "gpt2, 6 layers of 384": [
        "gpt-shakespeare",
        "model.hidden_size=384",
        "model.num_layers=6",
        "model.num_heads=6",
        "writer.context_length=256",
    ],
    "gpt-shakespeare": ["gpt-shakespeare"],
    SMALL: ["laptops-atae"],
}
LARGE = [
    "model.hidden_size=640",
    "model.intermediate_size=2560",
    "model.encoder_layers=5",
    "model.decoder_layers=5",
    "model.num_heads=8",
    "train.batch_tokens=128",
]
TINY = ["model.hidden_size=8", "model.intermediate_size=8", "model.num_heads=2", "train.batch_tokens=128"]


def lines(words: Sequence[str], steps: int, processes: int, options: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines of the log of a training of so many steps."""
    with tempfile.TemporaryDirectory() as folder:
        short = {"steps": steps, "warmup": 0, "log_every": EVERY, "valid_every": 10**6, "save_every": 10**6}
        keys = [f"train.{key}={value}" for key, value in {**short, "threads": 2 // processes}.items()]
        command = [sys.executable, "-m", "saccade", "train", *words, *keys, *options, "--out", f"{folder}/run", "--quiet"]
        command += ["--processes", str(processes)] if processes > 1 else []
        settings = {**os.environ, "OMP_NUM_THREADS": str(2 // processes)}
        done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        entries = [json.loads(line) for line in Path(folder, "run", "log.jsonl").read_text().splitlines()]
    return [entry for entry in entries if entry["event"] == "step"]


def pace(words: Sequence[str], steps: int, processes: int) -> float:
    """Tokens per second: the median of the log's lines after the first."""
    later = [one for one in lines(words, steps, processes) if one["step"] > SKIPPED]
    return float(statistics.median(one["tokens_per_second"] for one in later))


def speed(report: Report, case: str, words: Sequence[str], steps: int, rounds: int) -> None:
    """How many times more tokens per second two processes read."""
    both = [(pace(words, steps, 2), pace(words, steps, 1)) for _ in range(rounds)]
    two, one = (statistics.median(own) for own in zip(*both, strict=True))
    ratio = statistics.median(many / alone for many, alone in both)
    report.value(case, PEER, ratio, f"two processes {two:,.0f} tokens/s, one {one:,.0f}")


def megabytes(words: Sequence[str], options: Sequence[str]) -> float:
    """What the first of two processes has in memory after some steps."""
    return float(max(one["rss_mb"] for one in lines(words, 2 * EVERY, 2, options)[-1]["ranks"]))


def memory(report: Report) -> None:
    """What a process holds of a large model by DDP, and sharded."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pairs.tsv")
        file.write_text("".join(f"this is sentence number {n}\tnumber {n} is this\n" for n in range(2000)))
        data = ["transformer", f"data.train={file}", "tokens.size=300"]
        held, texts = {}, []
        for name, options in (("DDP", []), ("sharded", ["train.shard=true"])):
            whole, alone = (megabytes([*data, *size], options) for size in (LARGE, TINY))
            held[name] = whole - alone
            texts.append(f"{name} {held[name]:,.0f} MB ({whole:,.0f} - {alone:,.0f})")
    report.value("memory of 60M parameters", "DDP", held["DDP"] / held["sharded"], ", ".join(texts))


def main() -> None:
    """All cases."""
    chosen = arguments(__doc__.splitlines()[0] if __doc__ else "")
    report = Report()
    cases = {SMALL: CASES[SMALL]} if chosen.quick else CASES
    for case, words in cases.items():
        speed(report, case, words, 60, 3)
    if not chosen.quick:
        memory(report)
    report.close(chosen.json)


if __name__ == "__main__":
    main()
