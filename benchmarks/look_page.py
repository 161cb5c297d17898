"""A look at 512 tokens and 144 heads: computed, written as a page, and opened in a browser; and what `saccade --help` takes.

python benchmarks/look_page.py            bert-base (12 layers of 12 heads), random weights, 5 rounds
python benchmarks/look_page.py --quick    2 rounds, under a minute

Each is measured against its limit: 3 s for the page that is written, 1 s for the page that is opened, .8 s for the help.
The ratios are limit / time, of the quickest round: beside other work, what is slowest says nothing. A page is open once its
heat map stands there (`performance.mark("drawn")` of the page); --help is a new process. Opening needs chromium in the path.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from kit import Report, arguments

from saccade import systems
from saccade.attention import looking
from saccade.data.tensors import PiecesInput
from saccade.data.tokenizers import Vocabulary
from saccade.view import Axis, Scene, Shown, Trace

TOKENS, LAYERS, HEADS = 512, 12, 12
LIMITS = {"written": 3.0, "opened": 1.0, "help": 0.8}
BROWSER = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def model_and_input() -> tuple[Any, PiecesInput]:
    """bert-base with weights that make heads differ, and a text of random tokens."""
    torch.manual_seed(0)
    module = systems.load("bert")
    model = module.Model(
        module.Config(**module.PRESETS["base"]["model"]),
        Vocabulary(size=30_522, pad=0, start=101, end=102),
        TOKENS,
        pooler=False,
    )
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3.0)
    tokens, none = torch.randint(1000, 30_000, (1, TOKENS)), torch.zeros(0, dtype=torch.long)
    return model.eval(), PiecesInput(
        tokens, torch.tensor([TOKENS]), segments=torch.zeros_like(tokens), rows=none, places=none
    )


def looked(model: Any, given: PiecesInput) -> Shown:
    """All weights of all heads."""
    with torch.inference_mode(), looking(model) as recorded:
        states = model.states(given)
        looks = [look.of(0) for look in model.looks(given, states, recorded)]
    axis = Axis("pieces", [f"token{number}" for number in range(TOKENS)])
    return Shown(Trace("bert", [Scene("512 tokens", {"input": axis}, looks)]))


def least(rounds: int, call: Callable[[], float]) -> float:
    """The quickest of several."""
    return min(call() for _ in range(rounds))


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def opened(page: Path, rounds: int) -> float:
    """Seconds until the page has drawn, each time in a new context of the browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=BROWSER)

        def once() -> float:
            context = browser.new_context(viewport={"width": 1100, "height": 900})
            tab = context.new_page()
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-drawn]")
            drawn: float = tab.evaluate("performance.getEntriesByName('drawn')[0].startTime") / 1000
            context.close()
            return drawn

        found = least(rounds, once)
        browser.close()
    return found


def main() -> None:
    given = arguments(__doc__ or "")
    torch.set_num_threads(given.threads)
    rounds, report = 2 if given.quick else 5, Report()
    model, text = model_and_input()
    looked(model, text)
    computed = least(rounds, lambda: timed(lambda: looked(model, text)))
    print(f"{'look':38} computed in {computed:.2f} s, all weights of all heads")
    shown = looked(model, text)
    print(f"{'heads':38} measured in {least(rounds, lambda: timed(shown.heads)):.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "look.html"
        written = least(rounds, lambda: timed(lambda: Shown(shown.trace).save(page)))
        size = f"{page.stat().st_size / 1e6:.1f} MB"
        report.value(
            "page written", "limit", LIMITS["written"] / written, f"{written:.2f} s of {LIMITS['written']} s, {size}"
        )
        if shutil.which("chromium"):
            drawn = opened(page, rounds)
            report.value("page opened", "limit", LIMITS["opened"] / drawn, f"{drawn:.2f} s of {LIMITS['opened']} s")
    help_command = [sys.executable, "-m", "saccade", "--help"]
    helped = least(rounds, lambda: timed(lambda: subprocess.run(help_command, check=True, stdout=subprocess.DEVNULL)))
    report.value("saccade --help", "limit", LIMITS["help"] / helped, f"{helped:.2f} s of {LIMITS['help']} s")
    report.close(given.json)


if __name__ == "__main__":
    main()
