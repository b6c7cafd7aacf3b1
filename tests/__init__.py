"""The tests mirror src/tidegate; `tests.oracle` holds the answers everything is checked against."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
"""The folder of the project."""
