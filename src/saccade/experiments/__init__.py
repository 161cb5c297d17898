"""Tables of runs: models that differ in what their rows say, each trained from several seeds."""
