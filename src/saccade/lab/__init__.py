"""The lectures' claims as experiments: each module runs by itself, says what it does, measures it and draws it."""
