"""Classifiers that stay with the owner of the records: what their answers rest on, and what each record decides."""

from __future__ import annotations

import csv
import functools
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any

import h5py
import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import driver, runs
from .table_models import TableClassifier, stages
from .tables import Schema, id_texts


class OwnersClassifier(TableClassifier):
    """What stays with the owner of the records: a run that depends on them without protection, in a private folder that
    goes with this object."""

    def _open_folder(self) -> str:
        self._folder = tempfile.mkdtemp(prefix="holdfast-")
        self._end = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _labels(self, places: Sequence) -> np.ndarray:
        labels = list(self._by_name.values())  # in the order of the schema's classes
        return np.array([labels[place] for place in places], dtype=self.classes_.dtype)

    def risk(self, X: Any, y: Any, shadows: int | None = None) -> dict[str, Any]:
        """What attacks find out about the records of the run, beside what is proved: who was trained on, what a column of
        theirs holds. X [n, columns] and y [n] are records that by chance were not trained on; shadows: networks trained
        anew for the sharpest attacks, else as many as `holdfast risk` takes."""
        check_is_fitted(self, "guarantee_")
        schema = Schema({name: value for name, value in self.schema_.items() if name not in ("id", "person")})
        schema.write(os.path.join(self._folder, "held.toml"))
        self._write_rows(self._folder, X, np.asarray(y))
        driver.run("import", "table.csv", "--schema", "held.toml", "--expected-records", "found", "--population", "held-out", "--out", "held.h5", folder=self._folder)
        words = [] if shadows is None else ["--shadows", shadows]
        return driver.run("risk", "--run", "run", "--data", "data.h5", "--held-out", "held.h5:train", *words, folder=self._folder)

    def __getstate__(self) -> dict:
        if getattr(self, "guarantee_", None) is not None:
            raise pickle.PicklingError("its run depends on the private records without protection, and stays with their owner")
        return super().__getstate__()


class CertifiedClassifier(OwnersClassifier):
    """A classifier that says of every answer how many records would have to change before the answer could.

    For the owner of the records alone: its answers, distances and the folder of its run depend on them without protection.
    What may leave is what release() gives. Parameters that are not here are those of PrivateClassifier.

    Parameters
    ----------
    levels : None: a convex model, whose distances have no cap. K: boxes for every k = 0..K, of any network.
    relation : which tables are neighbours: "add_remove", "substitute", or "remove", for unlearning alone.
    epsilon : what answers are to cost together, if any are released: the less, the less a record weighs, and a model learns.
    configuration : None: what `holdfast advise` advises of that kind. Else as of PrivateClassifier.

    Attributes
    ----------
    guarantee_ : dict {status, statement, conditions, …}: what a distance means.   schema_, classes_, n_features_in_.
    """

    def __init__(self, levels: int | None = None, relation: str = "add_remove", epsilon: float = 1.0, *, schema: Any = None,
                 classes: Sequence | None = None, expected_persons: int | None = None, ids: str | None = None, rows_at_most: int | None = None, population: str | None = None,
                 columns: str = "amounts", configuration: Any = None, verbose: bool = False):
        self.levels = levels
        self.relation = relation
        self.epsilon = epsilon
        self.schema = schema
        self.classes = classes
        self.expected_persons = expected_persons
        self.ids = ids
        self.rows_at_most = rows_at_most
        self.population = population
        self.columns = columns
        self.configuration = configuration
        self.verbose = verbose

    def fit(self, X: Any, y: Any, ids: Any = None) -> CertifiedClassifier:
        """Trains on X [n, columns], a DataFrame or an array, and y [n], in a private folder that goes with this object."""
        folder = self._open_folder()
        with stages(self.verbose) as say:
            facts = self._import(folder, say, X, y, ids)
            say("advise")
            kind = self._configure(folder, facts, self.epsilon, 1e-5, "convex" if self.levels is None else "boxes")
            say("train")
            settings = {} if kind == "convex" else {"certificate.levels": self.levels}
            self._train(folder, {"certificate.relation": self.relation, **settings})
        self.guarantee_ = runs.manifest(os.path.join(folder, "run"))["guarantee"]
        return self

    def _asked(self, X: Any) -> dict:
        """What `holdfast certify` finds of X [n, columns]."""
        check_is_fitted(self, "guarantee_")
        self._write_rows(self._folder, X)
        driver.run("certify", "--run", "run", "--queries", "table.csv", folder=self._folder)
        return runs.certificates(os.path.join(self._folder, "run"))

    def predict(self, X: Any) -> np.ndarray:
        """[n], the classes that the run answers for X [n, columns]."""
        return self._labels(self._asked(X)["ensemble_label"])

    def stable_distance(self, X: Any) -> np.ndarray:
        """int64 [n], records: no change of so many, by the relation, changes the answer for X [n, columns]."""
        return self._asked(X)["ensemble_distance"].astype(np.int64)

    def certified(self, X: Any, k: int) -> np.ndarray:
        """bool [n]: does every run of this training on a table k records away give this answer?"""
        return self.stable_distance(X) >= k

    def forget(self, ids: Sequence) -> CertifiedClassifier:
        """Becomes what it were without the records of these ids, byte for byte; the run with them is removed."""
        check_is_fitted(self, "guarantee_")
        place = self._folder
        words = id_texts(ids)
        with open(os.path.join(place, "ids.txt"), "w", newline="", encoding="utf-8") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([word] for word in words)
        driver.run("unlearn", "--run", "run", "--data", "data.h5", "--ids", "ids.txt", "--out", "left", "--out-data", "left.h5", folder=place)
        if os.path.exists(os.path.join(place, "left")):  # else all of them were forgotten before
            shutil.rmtree(os.path.join(place, "run"))
            os.rename(os.path.join(place, "left"), os.path.join(place, "run"))
            os.replace(os.path.join(place, "left.h5"), os.path.join(place, "data.h5"))
        os.remove(os.path.join(place, "ids.txt"))
        return self

    def release(self, X: Any, epsilon: float, ledger: str | os.PathLike, budget: tuple[float, float] | None = None) -> np.ndarray:
        """[n], labels for X [n, columns] under differential privacy, each charged epsilon. X concerns nobody whose records
        are private. budget (epsilon, delta) opens the account where there is none."""
        check_is_fitted(self, "guarantee_")
        if self.population is None:
            raise ValueError("a ledger keeps the budget of people: say whose it is, population=NAME, and fit again")
        self._write_rows(self._folder, X)
        path = os.path.abspath(ledger)
        opening = [] if budget is None else ["--budget", budget[0], "--budget-delta", budget[1]]
        driver.run("account", "--ledger", path, "--data", "data.h5", *opening, folder=self._folder)
        said = driver.run("release", "--run", "run", "--queries", "table.csv", "--epsilon", epsilon, "--ledger", path, folder=self._folder)
        return self._labels(said["labels"])


class LeaveOneOut(OwnersClassifier):
    """A classifier, and for every record the one that the same training makes without it: what each record decides.

    For the owner of the records alone, as its answers depend on them without protection. Parameters that are not here are
    those of PrivateClassifier.

    Parameters
    ----------
    hidden : widths of the hidden layers.
    configuration : None: plain full steps of a rate that `holdfast advise` advises. Else as of PrivateClassifier.

    Attributes
    ----------
    idp_ : dict {"classes": [{"lower", "upper", "record", "input"}, …]}, of each class in the schema's order: above which
        confidence no single record decides the label, in logits of its lead; bounded when it is first asked for.
    influence_ : float64 [rows, rows], influence() on the answers for the rows that were fitted; found when first asked for.
    guarantee_ : dict {status, statement, conditions, …}, of the fleet.   schema_, classes_, n_features_in_.
    """

    def __init__(self, hidden: Sequence[int] = (), *, schema: Any = None, classes: Sequence | None = None, expected_persons: int | None = None,
                 ids: str | None = None, population: str | None = None, columns: str = "amounts", configuration: Any = None, verbose: bool = False):
        self.hidden = hidden
        self.schema = schema
        self.classes = classes
        self.expected_persons = expected_persons
        self.ids = ids
        self.population = population
        self.columns = columns
        self.configuration = configuration
        self.verbose = verbose

    def fit(self, X: Any, y: Any, ids: Any = None) -> LeaveOneOut:
        """Trains on X [n, columns], a DataFrame or an array, and y [n]: n + 1 networks."""
        folder = self._open_folder()
        with stages(self.verbose) as say:
            facts = self._import(folder, say, X, y, ids)
            say("advise")
            self._configure(folder, facts, 1.0, 1e-5, "votes")
            say("train")
            plain = {"network.hidden": list(self.hidden), "ensemble.members": 1, "clip.kind": "none"}
            driver.run("fleet", "--config", "settings.toml", *self._settings(plain), "--data", "data.h5", "--out", "run", folder=folder)
        self.guarantee_ = runs.manifest(os.path.join(folder, "run"))["guarantee"]
        with h5py.File(os.path.join(folder, "data.h5")) as file:
            self._ids = file["id_train"][...]
        for name in ("idp_", "influence_"):
            self.__dict__.pop(name, None)
        return self

    def _asked(self, X: Any) -> str:
        """Folder of what `holdfast influence` finds of X [n, columns]."""
        check_is_fitted(self, "guarantee_")
        self._write_rows(self._folder, X)
        return self._found("table.csv")

    def _found(self, queries: str) -> str:
        driver.run("influence", "--run", "run", "--queries", queries, folder=self._folder)
        return os.path.join(self._folder, "run")

    def _changes(self, folder: str) -> np.ndarray:
        with h5py.File(os.path.join(folder, "influence.h5")) as file:
            change, record = file["change"][...], file["record"][...]
        place = {one: at for at, one in enumerate(record.tolist())}
        return change[:, [place[one] for one in self._ids.tolist()]]

    def predict(self, X: Any) -> np.ndarray:
        """[n], the classes that the network of all records answers for X [n, columns]."""
        with open(os.path.join(self._asked(X), "influence_queries.csv"), encoding="utf-8") as file:
            return self._labels([int(row["label"]) for row in csv.DictReader(file)])

    def influence(self, X: Any) -> np.ndarray:
        """float64 [n, rows of the table that was fitted]: by how much the lead of each answer, in logits, changes where the
        training is done without that row. Exact."""
        return self._changes(self._asked(X))

    @functools.cached_property
    def influence_(self) -> np.ndarray:
        check_is_fitted(self, "guarantee_")
        return self._changes(self._found("data.h5:train"))

    @functools.cached_property
    def idp_(self) -> dict[str, Any]:
        check_is_fitted(self, "guarantee_")
        return driver.run("idp", "--run", "run", folder=self._folder)
