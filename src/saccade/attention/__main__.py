"""`python -m saccade.attention` prints the list of scores, normalizers and masks."""

from saccade.attention.catalog import catalog

if __name__ == "__main__":
    print(catalog(), end="")
