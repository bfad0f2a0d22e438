"""What models of tables have in common, as scikit-learn's estimators: a table is read by a schema, and settings are public."""

from __future__ import annotations

import functools
import os
import sys
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, column_or_1d, validate_data

from . import driver
from .tables import Schema, category_columns, columns_of, eager, fresh, id_texts, is_frame, text_of, texts, toml, write_csv

CLIPPED = 0.05  # of all values: a schema that clips more of them is worth a word to the owner


class FoundInRecords(UserWarning):
    """Something that a guarantee rests on was found in the private records: it then holds only `as published`."""


class TableModel(BaseEstimator):
    """What models of tables have in common: a table is read by a schema, and settings are public."""

    n_features_in_: int
    feature_names_in_: np.ndarray
    guarantee_: dict[str, Any]
    schema_: Schema | None
    rows_at_most: int | None = None  # of a person
    text = "buckets"  # or "names": what is measured of text columns
    _names = False  # are there names to be measured?
    _persons = False  # do ids name whose the rows are?
    _measures = False  # are ranges and a count that nobody stated drawn under privacy?

    def _import(self, folder: str, say: Any, X: Any, y: Any, ids: Any) -> dict:
        """Makes data.h5 of a table, in the folder; returns what the program says of it."""
        named = ids is not None or self.ids is not None
        self._persons = named
        self._measures = self._measures and named and (self.schema is None or self.expected_persons is None)
        X, y, names, cells = self._table(X, y)
        if ids is not None and self.ids is not None:
            raise ValueError(f"who each row is says the column {self.ids!r} (ids=), and fit's ids too: give one of them")
        if ids is not None:
            if len(ids) != len(y):
                raise ValueError(f"X has {len(y)} rows, ids {len(ids)}")
            names, cells = [*names, fresh("id", names)], [*cells, id_texts(ids)]
        id_column = names[-1] if ids is not None else self.ids
        label = fresh("label", names)
        write_csv(os.path.join(folder, "table.csv"), [*names, label], [*cells, texts(y)])
        run = functools.partial(driver.run, folder=folder)
        if self._measures and self.schema is None:
            say("import")
            if facts := self._import_as_it_is(run, label, id_column, category_columns(X), y):
                os.remove(os.path.join(folder, "table.csv"))
                self.schema_ = None  # the model has it, once it is measured
                self._take_labels(None, y)
                return facts
            self._measures = False
        say("schema")
        schema = self.schema_ = self._schema(run, names, label, id_column, y)
        schema.write(os.path.join(folder, "schema.toml"))
        say("import")
        self._measures = self._measures and not schema.get("found")
        facts = run("import", "table.csv", "--schema", "schema.toml", *self._count(), "--population", self.population or "unnamed", "--out", "data.h5")
        os.remove(os.path.join(folder, "table.csv"))
        self._warn_of_clipping(facts)
        self._warn_of_rows(facts)
        self._take_labels(schema, y)
        return facts

    # What is learnt, as the kinds of models differ in it.

    def _check_labels(self, y: np.ndarray) -> np.ndarray:
        """y, if a model may learn it."""
        raise NotImplementedError

    def _label_words(self, y: np.ndarray) -> list | None:
        """Options of import that say what the label is; None: only a schema can."""
        raise NotImplementedError

    def _label_into(self, schema: Schema, y: np.ndarray) -> None:
        """Says in the schema what the label is: as stated, else as found in y, which it then says."""
        raise NotImplementedError

    def _take_labels(self, schema: Schema | None, y: np.ndarray) -> None:
        """Remembers what answers are to be called; without a schema the label is what _label_words() say."""

    def _take_labels_of(self, known: Mapping) -> None:
        """The same, of the schema of a model that was loaded."""

    def _classes(self) -> int:
        """network.classes."""
        raise NotImplementedError

    def _count(self) -> list:
        """Options that state the number of records, unless it is measured."""
        if self.expected_persons is None:
            return [] if self._measures else ["--expected-records", "found"]
        return ["--expected-records", self.expected_persons]

    def _import_as_it_is(self, run: Any, label: str, id_column: str, categories: list, y: np.ndarray) -> dict | None:
        """Makes data.h5 of table.csv without ranges: each cell of a column that is no declared category is a number or text
        by itself. None: the label's classes are not stated."""
        words = self._label_words(y)
        if words is None:
            return None
        rows = [] if self.rows_at_most is None else ["--rows-at-most", self.rows_at_most]
        asked = "?" if self.text == "names" else "#"
        text = [option for name in categories if name != id_column for option in ("--categories", f"{name}={asked}")]
        self._names = self.text == "names" and bool(text)
        facts = run("import", "table.csv", "--label", label, *words, *text, "--undeclared", "any", "--delimiter", ",", "--person", id_column, *rows, *self._count(), "--population", self.population or "unnamed", "--out", "data.h5")
        self._warn_of_rows(facts)
        return facts

    def _table(self, X: Any, y: Any) -> tuple[Any, np.ndarray, list, list]:
        """(X, y, names of its columns, their cells), all that scikit-learn asks of them checked."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        X = eager(X)
        if is_frame(X):
            names, cells = columns_of(X)
            if not cells or not cells[0]:
                raise ValueError("Found array with 0 sample(s): a table needs a row and a column")
            _check_feature_names(self, X, reset=True)
            self.n_features_in_ = len(names) - (self.ids in names)
            if self.ids in names and hasattr(self, "feature_names_in_"):
                self.feature_names_in_ = self.feature_names_in_[self.feature_names_in_ != self.ids]
            y = column_or_1d(y, warn=True)
            if len(y) != len(cells[0]):
                raise ValueError(f"X has {len(cells[0])} rows, y {len(y)}")
        else:
            X, y = validate_data(self, X, y, accept_sparse=True, dtype="numeric", ensure_min_samples=2) if not self._persons else self._named_rows(X, y)
            X = dense(X)
            names, cells = columns_of(X)
        return X, self._check_labels(y), names, cells

    def _named_rows(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """The same of persons that are named: no cell of one of them refuses the others."""
        X = validate_data(self, X, accept_sparse=True, dtype=None, ensure_all_finite=False, ensure_min_samples=2)
        y = column_or_1d(y, warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, y {len(y)}")
        return X, y

    def _schema(self, run: Any, names: list, label: str, id_column: str | None, y: np.ndarray) -> Schema:
        """What the table is read by, whole: what nobody stated is found in it, and said to be found."""
        given = given_schema(self.schema, [name for name in names if name != id_column])
        if given is None:
            options = ["--person", id_column] if id_column else []
            numbers = ["--regression"] if self._classes() == 1 else []
            found = run("schema", "table.csv", "--delimiter", ",", "--label", label, *numbers, *options, "--from-data", "--force", "--out", "found.toml")
            if found["dropped"]:
                warnings.warn(f"left out, as texts that are no categories: {', '.join(found['dropped'])}", FoundInRecords, stacklevel=4)
            given = Schema(found["schema"])
        rows = {} if self.rows_at_most is None else {"rows_at_most": self.rows_at_most}
        given.update(label=label, **({"id": id_column, "person": rows} if id_column else {}))
        self._label_into(given, y)
        if given.get("found"):
            warnings.warn(f"ranges, categories or {self._LABELS[0]} were found in the records: the guarantee is only 'as published'. State them, schema=… and {self._LABELS[1]}=…", FoundInRecords, stacklevel=4)
        return given

    @staticmethod
    def _warn_of_rows(facts: Mapping) -> None:
        if facts["unlabelled"]:
            warnings.warn(f"{facts['unlabelled']} rows were left out, whose label is none of the classes: state them, classes=…", stacklevel=5)

    def _warn_of_clipping(self, facts: Mapping) -> None:
        values = sum(facts["rows"].values()) * facts["features"]
        if facts["clipped"] > CLIPPED * values:
            warnings.warn(f"{facts['clipped']} of {values} values lie outside the schema's ranges and count as their ends", stacklevel=4)

    def _configure(self, folder: str, facts: Mapping, epsilon: float, delta: float, kind: str) -> str:
        """Writes settings.toml; returns the kind of training: of "published" the advised one."""
        if self.configuration is None or isinstance(self.configuration, Mapping):
            features = getattr(self, "features", "auto")
            known = getattr(self, "class_shares", None)
            shares = "" if known is None else ",".join(str(float(share)) for share in known)
            text, kind = advice(facts["expected_records"], facts["features"], self._classes(), self.columns, features, shares, epsilon, delta, kind)
        else:
            with open(self.configuration, encoding="utf-8") as file:
                text = file.read()
            kind = tomllib.loads(text).get("training", {}).get("kind")
        with open(os.path.join(folder, "settings.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        return kind

    def _settings(self, settings: Mapping) -> list[str]:
        """Options that state them; a dict of a configuration goes over them."""
        given = self.configuration if isinstance(self.configuration, Mapping) else {}
        said = {"network.classes": self._classes(), **settings, **given}
        return [word for name, value in said.items() for word in ("--set", f"{name}={value if isinstance(value, str) else toml(value)}")]

    def _train(self, folder: str, settings: Mapping, *words: Any) -> None:
        """The run of data.h5 by settings.toml and by these settings."""
        driver.run("train", "--config", "settings.toml", *self._settings(settings), "--data", "data.h5", "--out", "run", *words, folder=folder)

    def _write_rows(self, folder: str, X: Any, y: np.ndarray | None = None) -> None:
        """table.csv, in the folder, of X [n, columns] that is asked about; with its labels, where they are known."""
        X = eager(X)
        if is_frame(X):
            names, cells = columns_of(X)
        else:
            names, cells = columns_of(dense(validate_data(self, X, accept_sparse=True, dtype="numeric", reset=False)))
            names = list(getattr(self, "feature_names_in_", names))
        if y is not None and self.schema_ is not None:
            names, cells = [*names, self.schema_["label"]], [*cells, texts(y)]
        write_csv(os.path.join(folder, "table.csv"), names, cells)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class TableClassifier(ClassifierMixin, TableModel):
    """A model of a table whose label is one of a few classes."""

    _LABELS = ("classes", "classes")
    classes_: np.ndarray

    def _check_labels(self, y: np.ndarray) -> np.ndarray:
        by_type = self._measures and self.schema is None and self._label_words(y) is not None
        if self._persons and (by_type or self.classes is not None or names_classes(self.schema)):
            return y  # each row is judged by itself: one without a stated label is left out
        if gaps := sum(text_of(label) == "" for label in y.tolist()):
            raise ValueError(f"Input y contains NaN: {gaps} labels are missing (leave these rows out)")
        check_classification_targets(y)
        stated = self.classes is not None or names_classes(self.schema)
        if len(np.unique(y)) < 2 and not stated:
            raise ValueError("y has one class: state the classes that there may be, classes=…")
        return y

    def _label_words(self, y: np.ndarray) -> list | None:
        """By the type of y alone: numbers are 0 and 1, whichever occur, and other classes only somebody who knows may say."""
        if self.classes is not None:
            return ["--classes", "|".join(texts(self.classes))]
        return {"b": ["--classes", "False|True"], "i": [], "u": [], "f": []}.get(y.dtype.kind)

    def _label_into(self, schema: Schema, y: np.ndarray) -> None:
        if self.classes is not None:
            schema["classes"] = texts(self.classes)
        elif not schema.get("classes"):
            schema.update(classes=[name for name in texts(np.unique(y)) if name], found=True)

    def _take_labels(self, schema: Schema | None, y: np.ndarray) -> None:
        flags = [False, True] if y.dtype.kind == "b" else [0, 1]
        stated = flags if self.classes is None else self.classes
        self._take_classes(texts(stated) if schema is None else schema["classes"], y.dtype, np.unique(y))

    def _take_labels_of(self, known: Mapping) -> None:
        names = known.get("classes") or self.model_.class_names()
        whole = all(name.lstrip("-").isdigit() for name in names)
        self._take_classes(names, np.dtype(np.int64 if whole else object), np.array([]))

    def _take_classes(self, names: Sequence[str], dtype: np.dtype, labels: np.ndarray) -> None:
        """Labels of the names that the model answers with, as y had them."""
        known = {text_of(label): label for label in labels.tolist()}
        if self.classes is not None:
            known.update({text_of(label): label for label in np.asarray(self.classes).tolist()})
        self._by_name = {name: known.get(name, label_of(name, dtype)) for name in names}
        self.classes_ = np.sort(np.array(list(self._by_name.values()), dtype=None if dtype.kind in "OUS" else dtype))
        if dtype.kind == "O":
            self.classes_ = self.classes_.astype(object)

    def _classes(self) -> int:
        return len(self.classes_) if hasattr(self, "classes_") else 2


# Public settings -------------------------------------------------------------------------------------------------------


@functools.lru_cache
def advice(records: int, features: int, classes: int, columns: str, mapped: str, shares: str, epsilon: float, delta: float,
           kind: str) -> tuple[str, str]:
    """(configuration, kind of training) that `holdfast advise` advises, of one kind or of those that are published: of public numbers alone,
    so asked once."""
    asked = ["--records", records, "--features", features, "--classes", classes, "--columns", columns, "--epsilon", epsilon, "--delta", delta, "--queries", 0]
    known = [*(["--map", mapped] if mapped != "auto" else []), *(["--class-shares", shares] if shares else [])]
    said = driver.run("advise", *asked, "--kind", kind, *known)
    kind = said["advised"]["kind"] if kind == "published" else kind
    return said["configurations"][kind], kind


def names_classes(schema: Any) -> bool:
    given = given_schema(schema, [])
    return given is not None and bool(given.get("classes"))


def given_schema(schema: Any, names: list[str]) -> Schema | None:
    """A Schema of its own, of whatever says one; names: of the columns that a (low, high) is the range of."""
    if schema is None:
        return None
    if isinstance(schema, (str, os.PathLike)):
        return Schema.read(schema)
    if isinstance(schema, Mapping):
        if "column" not in schema:
            raise ValueError("schema: has no 'column', the list of what its columns are (Schema.from_public makes one)")
        return Schema({**schema, "column": [dict(column) for column in schema["column"]]})
    if not isinstance(schema, Sequence) or len(schema) != 2:
        raise ValueError(f"schema: {schema!r} is no Schema, no path of one, and no (low, high)")
    return Schema.from_public({name: schema for name in names})


def dense(X: Any) -> np.ndarray:
    """float64 [n, columns] of an array or a sparse matrix."""
    return X.toarray() if hasattr(X, "toarray") else X


def label_of(name: str, dtype: np.dtype) -> Any:
    return name if dtype.kind in "OUS" else name == "True" if dtype.kind == "b" else dtype.type(name).item()


class stages:
    """Says which command runs: by tqdm where it is installed, else in lines on stderr."""

    NAMES = ("schema", "import", "account", "measure", "advise", "train", "publish")

    def __init__(self, verbose: bool):
        self.verbose, self.bar = verbose, None

    def __enter__(self) -> Any:
        if self.verbose:
            try:
                from tqdm.auto import tqdm

                self.bar = tqdm(total=len(self.NAMES), unit="command")
            except ImportError:
                pass
        return self.say

    def say(self, name: str) -> None:
        if self.bar is not None:
            self.bar.set_description(name)
            self.bar.update(1)
        elif self.verbose:
            print(f"holdfast {name}", file=sys.stderr)

    def __exit__(self, *error: Any) -> None:
        if self.bar is not None:
            self.bar.close()
