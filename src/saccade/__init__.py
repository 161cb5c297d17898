"""saccade: something is read, something is looked at, something is written."""

__version__ = "0.1.0.dev0"
