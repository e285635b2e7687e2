"""A small file and one change to it, asked for in plain words: the simulated model does the rest."""

import pathlib

NAME = "harbor.py"
BEFORE = "def harbor_opens():\n    return 5\n"
AFTER = "def harbor_opens():\n    return 6\n"
ASK = f"Change 5 to 6 in {NAME}."
# How the report of the simulated model begins.
REPORT = f"Done: I read {NAME} and changed it."


def prepare(work: pathlib.Path) -> None:
    (work / NAME).write_text(BEFORE)


def check(done, work: pathlib.Path) -> None:
    """The file on disk is what was asked for."""
    got = (work / NAME).read_text()
    assert got == AFTER, f"{NAME}: {got!r}\n{done.tail()}"
    assert done.code == 0, done.tail()
