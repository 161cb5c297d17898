"""As a program: trainings with and without `torch.compile`, and one that was interrupted, in the directory of its argument.

In a process of its own: inside a test every call is checked for its types, which torch cannot trace. The backend is not the
one that writes C++, which takes minutes; the graphs are the same.
"""

import sys
import warnings
from functools import partial
from pathlib import Path

import torch
import torch._dynamo

from saccade.training.interrupts import Interrupted
from saccade.training.progress import Quiet
from saccade.training.settings import resolve
from saccade.training.train import train

from . import small
from .runs import StopAt

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.compile = partial(torch.compile, backend="eager")
    folder = Path(sys.argv[1])
    made = small.windows(folder).table()
    made["model"] |= {name: 0.0 for name in made["model"] if "dropout" in name}  # which is drawn otherwise in a graph
    made["train"] |= {"steps": 5, "save_every": 2}
    train(folder / "plain", resolve(made), Quiet())
    made["train"]["compile"] = True
    train(folder / "compiled", resolve(made), Quiet())
    torch._dynamo.reset()  # as if each had a process of its own: how often torch compiles anew is limited
    try:
        train(folder / "again", resolve(made), StopAt(3))
    except Interrupted:
        torch._dynamo.reset()
        train(folder / "again", resolve(made), Quiet(), resume=True)
