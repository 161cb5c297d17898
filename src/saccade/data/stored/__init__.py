"""Data that is larger than memory: examples and token ids in memory-mapped files, prepared once and kept in a cache."""
