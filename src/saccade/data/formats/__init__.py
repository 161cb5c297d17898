"""The user's own files, one module per format, and what reading them needs."""
