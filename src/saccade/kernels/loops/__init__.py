"""The compiled loops of the kernels, in Numba; imported at first use by `saccade.kernels.runtime`."""
