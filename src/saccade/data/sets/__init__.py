"""One file per data set: `INPUT` and `TARGET`, the types of its examples, `Config`, and `load(config)`."""
