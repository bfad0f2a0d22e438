"""The program: where it is, how it is run, and what its exit codes become."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

GRACE = 10.0  # seconds that a training has to end in, once it is told to
STARTED = "HOLDFAST_STARTED"  # environment variable of the program: its path


class Error(Exception):
    """What the program said. `message`: what happened, and where. `hint`: the remedy, or "". `code`: its exit code."""

    code = 1

    def __init__(self, text: str):
        super().__init__(text)
        self.message, self.hint = parted(text)


class UsageError(Error, ValueError):
    """A command or a setting that there is none of: nothing was started."""

    code = 2


class InputError(Error, ValueError):
    """A table, a model or a run that cannot be used."""

    code = 3


class OutputError(Error):
    """A file could not be written."""

    code = 4


class ArithmeticFault(Error):
    """This machine does not compute as the proofs assume: nothing was started."""

    code = 5


class BudgetExhausted(Error):
    """The ledger refuses: nothing was drawn, nothing is charged."""

    code = 6


class Interrupted(Error):
    """Told to end: SIGTERM or SIGUSR1."""

    code = 7


class CommunicationError(Error):
    """A rank was lost or a message failed."""

    code = 8


class InternalError(Error):
    """A broken invariant: please report it."""

    code = 9


class OutOfMemory(Error, MemoryError):
    """The data, the levels or the network take more memory than is left."""

    code = 10


ERRORS = {kind.code: kind for kind in Error.__subclasses__()}


def parted(text: str) -> tuple[str, str]:
    """(message, hint) of "message (hint)": the last parentheses, whatever stands in them."""
    depth = 0
    for at in range(len(text) - 1, -1, -1) if text.endswith(")") else ():
        depth += {")": 1, "(": -1}.get(text[at], 0)
        if depth == 0:
            return text[:at].rstrip(), text[at + 1 : -1]
    return text, ""


def program() -> str:
    """Path of the program: HOLDFAST_PROGRAM, else the one recorded or installed with this package, else PREFIX/bin/holdfast."""
    package = pathlib.Path(__file__).parent
    recorded = package / "program.txt"  # pip install with HOLDFAST_PROGRAM
    if os.environ.get("HOLDFAST_PROGRAM"):
        path = pathlib.Path(os.environ["HOLDFAST_PROGRAM"])
    elif recorded.is_file():
        path = pathlib.Path(recorded.read_text(encoding="utf-8"))
    elif package.parent.parts[-3:] == ("lib", "python3", "dist-packages"):  # cmake --install; bin of a venv has a script of pip
        path = package.parents[3] / "bin" / "holdfast"
    else:
        path = package / "bin" / "holdfast"
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise FileNotFoundError(f"no program at {path}: set HOLDFAST_PROGRAM to the path of a built program, or install this package again")
    return str(path)


def program_environment() -> dict[str, str]:
    """For the program: a command of this package that finds itself there was started instead of the program."""
    if STARTED in os.environ:
        raise FileNotFoundError(f"{os.environ[STARTED]} starts the Python package again: set HOLDFAST_PROGRAM to the path of the C++ program")
    return {**os.environ, STARTED: program()}


def run(command: str, *words: object, folder: str | None = None) -> dict[str, Any]:
    """The JSON object of `holdfast COMMAND WORDS`, run in `folder`.

    Raises the Error of its exit code. Where this process is interrupted, so is the program.
    """
    return json.loads(text(command, *words, "--json", folder=folder))


def text(command: str, *words: object, folder: str | None = None) -> str:
    """What the same prints for people. A program that is stopped leaves its scratch files where they go with this call."""
    line = ["holdfast", command, *(str(word) for word in words), "--quiet"]
    with (
        private_folder(in_memory()) as scratch,
        subprocess.Popen(line, executable=program(), cwd=folder, env={**program_environment(), "TMPDIR": scratch}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process,
    ):
        try:
            said, complaint = process.communicate()
        except BaseException:
            stop(process)
            raise
    if process.returncode == 0:
        return said
    raise error_of(process.returncode, complaint)


def stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def error_of(status: int, complaint: str) -> Error:
    words = complaint.rpartition("holdfast: ")[2].strip()
    if status < 0:
        return Error(words or f"the program was ended by {signal.Signals(-status).name}")
    return ERRORS.get(status, Error)(words or f"the program ended with {status}")


def in_memory() -> str | None:
    """Where the program's scratch files are not waited for, as in jobs/program/scratch_folder.cpp; None: in TMPDIR."""
    memory = "/dev/shm"
    fits = not os.environ.get("TMPDIR") and os.access(memory, os.W_OK | os.X_OK) and shutil.disk_usage(memory).free >= 1 << 30
    return memory if fits else None


@contextlib.contextmanager
def private_folder(parent: str | None = None) -> Iterator[str]:
    """A folder for its owner alone (0700), in TMPDIR or in this one; removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="holdfast-", dir=parent) as folder:
        yield folder


def main() -> None:
    """The command `holdfast` of an installed package."""
    import sys

    try:
        environment = program_environment()
        os.execve(environment[STARTED], ["holdfast", *sys.argv[1:]], environment)
    except FileNotFoundError as error:
        sys.exit(f"holdfast: {error}")
