"""What an entry of tools/reproduce is made of, and what it measures with.

    @entry("000", "Figure 2")
    def single_model(here):
        data = here.made("synth", "blobs", "--out", OUT)
        run = here.trained(data, {"network.hidden": []})
        here.row(accuracy=here.said("evaluate", "--run", run, "--data", data, "--epsilon", 1)["accuracy"]["single"])
        return judged(True, "why")

A word of a command is a text, a number, a path, what another command makes (made once it is needed), OUT (what this one
makes), or a tuple of those, joined. What commands said is kept, so that a call that was stopped goes on.
"""

import csv
import hashlib
import io
import json
import math
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HALVES = ROOT / "tools/python/halves.py"
OUT = ("OUT",)
HOLDS, STAND_IN, FALSE, LATER = "holds", "holds on a stand-in", "does not hold", "cannot be asked here yet"  # or "nothing to measure"
ENTRIES = {}  # {(paper, item): function of Here that gives (verdict, why)}


class Failure(Exception):
    """A command that failed."""


class Lacking(Exception):
    """A table, or a Python, that is not there."""


def entry(paper, item):
    def kept(measure):
        ENTRIES[paper, item] = measure
        return measure
    return kept


def items():
    """{(paper, item): {"caption", "says", "data", …}} in the order of the papers; what is measured of them is in ENTRIES."""
    told = tomllib.loads((ROOT / "tools/papers/items.toml").read_text())
    texts = told.pop("texts")
    return {(paper, item): {key: " ".join(text.format(**texts).split()) for key, text in found.items()}
            for paper, named in told.items() for item, found in named.items()}


def judged(holds, why, stand_in=True):
    return (STAND_IN if stand_in else HOLDS) if holds else FALSE, why


def sets(settings):
    return [word for key, value in settings.items() for word in (
        "--set", (key, "=", value if not isinstance(value, (list, bool)) else json.dumps(value, separators=(",", ":"))))]


def paid(data, settings, *words, number=0):
    """The steps that make OUT/run, a training that an account of its own in OUT/ledger.db pays for; number: of another draw of
    noise."""
    ledger = (OUT, "/ledger.db")
    return (["account", "--ledger", ledger, "--data", data, "--budget", 100 + number, "--budget-delta", 0.01],
            ["train", "--data", data, "--out", (OUT, "/run"), "--ledger", ledger, *words, *sets(settings)])


def rounded(count):
    """To two significant digits: a number of records that anybody may know."""
    return int(float(f"{count:.1e}"))


def percent(share):
    return f"{100 * share:.1f}%"


def made_in(words):
    if isinstance(words, Made):
        return [words]
    return [made for word in words for made in made_in(word)] if isinstance(words, (list, tuple)) else []


class Made:
    """A file or a folder that commands make, known by their words."""

    def __init__(self, here, steps, folder):
        self.here, self.steps, self.folder, self.answered = here, steps, folder, None
        words = [[self.text(word, lambda made: made.name, "OUT").replace(str(here.work), "WORK") for word in step]
                 for step in steps]
        self.name = hashlib.sha256(json.dumps([words, folder, here.version]).encode()).hexdigest()[:12]
        self.path, self.kept = here.work / self.name, here.out / "kept" / f"{self.name}.json"

    def text(self, word, path_of, out):
        if word == OUT:
            return out
        if isinstance(word, (tuple, list)):
            return "".join(self.text(part, path_of, out) for part in word)
        if isinstance(word, float):
            return f"{word:g}" if float(f"{word:g}") == word else repr(word)
        return path_of(word) if isinstance(word, Made) else str(word)

    def known(self):
        """{"answers", "seconds", "spent", "commands"}: of an earlier call, or of running it."""
        if self.answered is None:
            self.answered = json.loads(self.kept.read_text()) if self.kept.exists() else self.run()
            self.here.commands.update(dict.fromkeys(self.answered["commands"]))
        return self.answered

    def there(self):
        self.known()
        if not self.path.exists():
            self.run()
        return str(self.path)

    def run(self):
        needed = {}
        for part in made_in(self.steps):
            part.there()
            needed.update(dict.fromkeys(part.known()["commands"]))
        if self.path.is_dir():
            shutil.rmtree(self.path)
        self.path.unlink(missing_ok=True)
        (self.path if self.folder else self.path.parent).mkdir(parents=True, exist_ok=True)
        commands, answers, start = list(needed), [], processor_seconds()
        for step in self.steps:
            words = [self.text(word, lambda made: str(made.path), str(self.path)) for word in step]
            began = processor_seconds()
            answers.append(json.loads(self.here.output_of(words) or "null"))
            seconds = processor_seconds() - began
            commands.append(" ".join(self.here.shown(words)))
        found = {"answers": answers, "seconds": seconds, "spent": processor_seconds() - start, "commands": commands}
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        partial = self.kept.with_suffix(".partial")
        partial.write_text(json.dumps(found))
        partial.replace(self.kept)
        return found

    @property
    def answers(self):
        """What each step said."""
        return self.known()["answers"]

    @property
    def answer(self):
        return self.answers[-1]

    @property
    def seconds(self):
        return self.known()["seconds"]


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def python_with_arrays():
    named = os.environ.get("HOLDFAST_PYTHON")
    for python in [named] if named else [sys.executable, "/usr/bin/python3"]:
        try:
            if subprocess.run([python, "-c", "import numpy, h5py"], capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            continue
    raise Lacking("no Python with numpy and h5py: install python3-numpy and python3-h5py, or name one in HOLDFAST_PYTHON")


class Here:
    """This machine, as one entry finds it."""

    def __init__(self, program, data, out, work, quick, threads):
        self.program, self.data, self.out, self.work, self.quick, self.threads = str(program), data, out, work, quick, threads
        self.rows, self.drawings, self.commands, self.mades = [], [], {}, {}
        self.version = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=False).stdout

    def begin(self):
        self.rows, self.drawings, self.commands = [], [], {}
        for made in self.mades.values():
            made.answered = None

    def spent(self):
        """Seconds of processor of all that went into the entry, whenever it was run."""
        return sum(made.known()["spent"] for made in self.mades.values() if made.answered is not None)

    def small(self, full, quick):
        return quick if self.quick else full

    def row(self, **columns):
        self.rows.append(columns)

    def draw(self, svg):
        self.drawings.append(svg)

    def table(self, name):
        """A table of DIR."""
        if self.data is None or not (self.data / f"{name}.h5").is_file():
            raise Lacking(f"no {self.data / name if self.data else name}.h5 (--data names the folder of the tables)")
        return self.data / f"{name}.h5"

    def file(self, text):
        path = self.work / hashlib.sha256(text.encode()).hexdigest()[:12]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def steps(self, *steps, folder=True):
        """What several commands make, one after the other, in a folder of theirs; the answer is the last one's."""
        made = Made(self, [list(step) for step in steps], folder)
        return self.mades.setdefault(made.name, made)

    def made(self, *words):
        return self.steps(words, folder=False)

    def said(self, *words):
        return self.made(*words).answer

    def trained(self, data, settings, *words, command="train"):
        return self.made(command, "--data", data, "--out", OUT, *words, *sets(settings))

    def imported(self, name, *words):
        """A table of DIR as a dataset whose population has its name, unless it states one."""
        states = self.said("inspect", self.table(name))["splits"][0].get("population")
        return self.made("import", self.table(name), "--out", OUT, *(() if states else ("--population", name)), *words)

    def certified(self, run, data, *words):
        """(accuracy, {k: certified}, all that evaluate says) of single models."""
        said = self.said("evaluate", "--run", run, "--data", data, "--epsilon", 1, *words)
        return said["accuracy"]["single"], dict(zip(said["levels"], said["certified_fraction"]["single"])), said

    def with_noise(self, data, settings, *words, number=0):
        """Accuracy of a model for anyone, whose training a ledger of its own pays for; number: of another draw of noise."""
        return self.steps(*paid(data, settings, *words, number=number),
                          ["evaluate", "--run", (OUT, "/run"), "--data", data]).answer["accuracy"]["single"]

    def records(self, file):
        return next(split["rows"] for split in self.said("inspect", file)["splits"] if split["split"] == "train")

    def output_of(self, words):
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads), "PYTHONPATH": str(ROOT / "tools/python"),
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = [python_with_arrays(), "-B", *words[1:]] if words[0] == "python" else [self.program, *words, "--quiet",
            "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
        if done.returncode:
            raise Failure(f"{' '.join(command)}\n{done.stderr.strip() or f'ended with {done.returncode}'}")
        return done.stdout

    def shown(self, words):
        """A command as somebody would type it: tables are in DIR, what commands made in WORK."""
        places = [(str(self.work), "WORK"), *([(str(self.data), "DIR")] if self.data else []), (str(ROOT) + "/", "")]
        for word in words if words[0] == "python" else ["holdfast", *words]:
            for place, name in places:
                word = word.replace(place, name)
            yield word if word and not set(word) & set(" []\"'\n;|&<>*") else "'" + word.replace("'", "'\\''") + "'"


def accuracies(evaluation, setting="single"):
    """{mechanism: [accuracy at each epsilon]}, of pure ones."""
    return {row["mechanism"]: row["accuracy"] for row in evaluation["private_accuracy"]
            if row["setting"] == setting and row["delta"] == 0}


def each_of(answers, epsilon, delta):
    """The epsilon of each of so many answers that together cost (epsilon, delta), as the papers compose: the greater of the
    sum and advanced composition with all of delta for it."""
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        if math.sqrt(2 * answers * math.log(1 / delta)) * middle + answers * middle * math.expm1(middle) <= epsilon:
            low = middle
        else:
            high = middle
    return max(low, epsilon / answers)


def table_text(rows):
    """CSV of rows with any columns."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: f"{value:.5g}" if isinstance(value, float) else value for key, value in row.items()} for row in rows)
    return text.getvalue()
