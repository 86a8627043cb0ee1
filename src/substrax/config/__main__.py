"""Writes down which settings there are: `make settings`."""

import sys

from ._tables import write_tables

if __name__ == "__main__":
    sys.stdout.write(f"{write_tables()}\n")
