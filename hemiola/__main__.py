"""``python -m hemiola``."""

from hemiola.cli import main

main()
