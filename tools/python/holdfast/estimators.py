"""Private models as scikit-learn's estimators. Each fit is a row of commands of the program; nothing is computed here."""

from __future__ import annotations

import csv
import functools
import io
import math
import os
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from . import driver, models
from .table_models import TableClassifier, TableModel, given_schema, stages
from .tables import Schema


NAMES_PART = 0.1  # of delta: what names of categories cost


class PrivateModel(TableModel):
    """A model under differential privacy: trained with noise, or given noise, paid for by a ledger, and published."""

    model_: models.Model
    guarantee_: dict[str, Any]
    spent_: dict[str, Any] | None
    statement_: str | None

    # Fit ---------------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, ids: Any = None) -> Self:
        """Trains on X [n, columns], a DataFrame or an array, and y [n]. ids [n]: who each row is.

        The ledger is charged before the first step. Interrupted after that, the model is gone and stays paid for.
        """
        if self.ledger is not None and self.population is None:
            raise ValueError("a ledger keeps the budget of people: say whose it is, population=NAME")
        if self.text not in ("buckets", "names"):
            raise ValueError(f"text={self.text!r}: buckets of a hash or names are measured of columns of text")
        if self.text == "names" and self.rows_at_most is not None:
            raise ValueError("names are measured of one row a person: leave rows_at_most out, or take text='buckets'")
        self._measures = self.delta > 0
        with driver.private_folder() as folder, stages(self.verbose) as say:
            facts = self._import(folder, say, X, y, ids)
            self._publish(folder, say, facts)
        return self

    def _publish(self, folder: str, say: Any, facts: Mapping) -> None:
        """From data.h5, in the folder, to the model."""
        run = functools.partial(driver.run, folder=folder)
        population = self.population or "unnamed"
        say("account")
        ledger = os.path.join(folder, "ledger.db") if self.ledger is None else os.path.abspath(self.ledger)
        run("account", "--ledger", ledger, "--data", "data.h5", *self._opening(run, ledger, population))
        epsilon, delta, edges = self.epsilon, self.delta, {}
        if self._measures:
            say("measure")
            measured = self._measure(folder, run, ledger)
            epsilon, delta = measured["left_for_training"]["epsilon"], measured["left_for_training"]["delta"]
            facts = {**facts, "features": measured["features"], "expected_records": measured.get("expected_records", facts["expected_records"])}
            edges = {"features.edges": []} if measured["bins"] else {}
        say("advise")
        kind = self._configure(folder, facts, epsilon, delta, "noisy" if self._measures else "published")  # whose claim stays whole
        say("train")
        noise = {"noise.epsilon": epsilon, "noise.delta": delta} if kind == "noisy" else {}
        self._train(folder, {**edges, **noise}, *(["--ledger", ledger] if noise else []))
        say("publish")
        price = [] if noise else ["--epsilon", epsilon, "--delta", delta]
        run("publish", "--run", "run", "--ledger", ledger, "--out", "model.h5", *price)
        self._take_model(os.path.join(folder, "model.h5"))
        if self._measures:
            self.schema_ = Schema(self.model_.schema)
        self.spent_ = run("account", "--ledger", ledger, "--population", population)
        self.statement_ = driver.text("statement", "--ledger", ledger, "--population", population)

    def _measure(self, folder: str, run: Any, ledger: str) -> dict:
        """data.h5 becomes what was measured of it, for a part of epsilon; returns what the program says."""
        names = self.delta * NAMES_PART if self._names else 0.0
        words = ["--delta", self.delta - names, *(["--names-delta", names] if names else [])]
        measured = run("measure", "--data", "data.h5", "--ledger", ledger, "--epsilon", self.epsilon, *words, "--out", "measured.h5")
        os.replace(os.path.join(folder, "measured.h5"), os.path.join(folder, "data.h5"))
        seen = [column.get("seen", True) for column in measured["columns"] if column and not column.get("dropped")]
        if seen and 2 * sum(seen) <= len(seen):
            raise driver.BudgetExhausted(f"there are too few records to measure ranges for epsilon {self.epsilon} (state them: schema=…)")
        return measured

    def _opening(self, run: Any, ledger: str, population: str) -> list:
        """What opens the account, where there is none; where one is said, the program holds it against the one there."""
        rule = "gdp" if self._measures else "basic"
        if self.ledger is not None:
            try:
                there = run("account", "--ledger", ledger, "--population", population)
                if self.budget is None:
                    return []
                rule = there["composition"]
            except driver.UsageError:  # none yet
                pass
        epsilon, delta = self.budget or (self.epsilon, self.delta)
        apart = ["--delta-apart", delta * NAMES_PART] if self._names and rule != "basic" else []
        return ["--budget", epsilon, "--budget-delta", delta, "--composition", rule, *apart]

    def _take_model(self, path: str | os.PathLike) -> None:
        self.model_ = models.read_model(path)
        self.guarantee_ = self.model_.guarantee
        with open(path, "rb") as file:
            self._published = file.read()

    # Answers -----------------------------------------------------------------------------------------------------------

    def _answers(self, X: Any) -> tuple[list, list]:
        """(header, rows) of what `holdfast predict` answers."""
        check_is_fitted(self, "model_")
        with driver.private_folder() as folder:
            self._write_rows(folder, X)
            said = driver.text("predict", *self._model_words(folder), "table.csv", folder=folder)
        header, *rows = csv.reader(io.StringIO(said))
        return header, rows

    def _model_words(self, folder: str) -> list[str]:
        """The options that name the model, of files written to `folder`."""
        with open(os.path.join(folder, "model.h5"), "wb") as file:
            file.write(self._published)
        if not self._is_withheld():
            return ["--model", "model.h5"]
        if self.schema_ is None:
            raise driver.UsageError("the ranges of its columns were found in private records, and stayed with their owner (load it with schema=…, who has it)")
        self.schema_.write(os.path.join(folder, "schema.toml"))
        return ["--model", "model.h5", "--schema", "schema.toml"]

    def _is_withheld(self) -> bool:
        return bool((self.model_.schema or {}).get("withheld"))

    # What is published -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """The model, as anyone may have it: a file that `holdfast predict` and load() take. It replaces none."""
        check_is_fitted(self, "model_")
        with open(path, "xb") as file:
            file.write(self._published)

    @classmethod
    def load(cls, path: str | os.PathLike, schema: Any = None) -> Self:
        """Of a file that save() or `holdfast publish` wrote. schema: where the model withholds what was found in private
        records, as its owner kept it (schema_)."""
        model = models.read_model(path)
        cost = model.cost or {}
        if (model.classes == 1) != (cls(1.0)._classes() == 1):
            raise driver.InputError(f"{path}: a model of {'numbers' if model.classes == 1 else 'classes'} (Private{'Regressor' if model.classes == 1 else 'Classifier'}.load reads it)")
        loaded = cls(cost.get("epsilon", math.inf), cost.get("delta", 1.0), schema=schema)
        loaded._take_model(path)
        loaded.schema_ = given_schema(schema, []) or (None if loaded._is_withheld() else Schema(model.schema or {}))
        loaded.statement_ = loaded.spent_ = None  # those are the ledger's
        known = loaded.schema_ or model.schema or {"column": []}
        loaded._take_labels_of(known)
        loaded.n_features_in_ = len(known["column"])
        loaded.feature_names_in_ = np.array([column["name"] for column in known["column"]], dtype=object)
        return loaded

    def __getstate__(self) -> dict:
        if getattr(self, "model_", None) is not None and self.schema_ is not None and self._is_withheld():
            raise pickle.PicklingError("its ranges, categories or classes were found in private records, and are for their owner alone: save() writes what may leave; or state them, schema=… and classes=…")
        return super().__getstate__()

    def to_torch(self) -> Any:
        """torch.nn.Sequential of float64, of what model_.mapped(model_.table(X)) gives: see models.to_torch()."""
        check_is_fitted(self, "model_")
        return models.to_torch(self.model_)

    def explain(self) -> str:
        """One paragraph for whoever answers for the records: the guarantee, what it rests on, and what was spent."""
        check_is_fitted(self, "model_")
        said, cost = self.guarantee_, self.model_.cost or {}
        text = f"Anyone may have this model and ask it anything: it cost epsilon {cost.get('epsilon')} and delta {cost.get('delta')}, once. {said['status']}: {said['statement']}."
        if said.get("conditions"):
            text += f" This holds where {'; '.join(said['conditions'])}."
        if self.spent_ and self.ledger is not None:
            account = self.spent_
            text += f" The account of '{account['population']}' has spent epsilon {account['spent_epsilon']} of {account['budget_epsilon']} and delta {account['spent_delta']} of {account['budget_delta']}."
        elif self.spent_:
            text += " No ledger was named: nothing remembers what other models of these people cost."
        return text

    def shapes(self, page: str | os.PathLike | None = None) -> dict[str, Any]:
        """What each column adds to the answers, as `holdfast explain --json` has it: {outputs: names, columns: [{name, span,
        at (in the column's units) or values, adds [outputs][places], beside the column's mean}], …}, the greatest span first.
        page: an HTML file to write, a picture a column."""
        check_is_fitted(self, "model_")
        with driver.private_folder() as folder:
            return driver.run("explain", *self._model_words(folder), *([] if page is None else ["--out", os.path.abspath(page)]), folder=folder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the noise is fresh
        return tags


class PrivateClassifier(PrivateModel, TableClassifier):
    """A linear classifier under differential privacy, that anyone may have and ask as often as they like.

    Parameters
    ----------
    epsilon, delta : what the model costs, charged once.
    schema : what the columns are, as public knowledge: a Schema or dict, the path of a TOML file of `holdfast schema`, or
        (low, high), the range of every column of numbers, in the columns' own units. None: ranges are measured under
        privacy, for a part of epsilon, where ids are given and classes are stated; else found in the records.
    classes : the label's values, as public knowledge, where the schema does not list them. None: 0 and 1 where y has no
        other; else those of y, found in the records.
    class_shares : public shares of the classes, in the order of classes_, as [0.97, 0.03]: records then count so that all
        classes count alike, and none is left out for being rare; probabilities are those of equal classes. None: as they are.
    expected_persons : number of records that anybody may know, a rounded one too. None: measured likewise, or found.
    ids : name of the column whose values name the persons. None: rows have no names, unless fit() is given them.
    rows_at_most : how many rows a person has at most, a public number; of who has more so many are kept, and each counts by
        its part. None: one, and more are refused: one row a person, made by pandas' groupby, serves as well or better.
    population, ledger : whose privacy budget is spent, and the file (SQLite) that keeps it and is never removed. Without a
        ledger nothing remembers what was spent: the guarantee is of this model alone.
    budget : (epsilon, delta) that all models of these people may ever cost: fixed when their account is opened. None: what
        this model costs.
    columns : "amounts" (amounts, counts, flags, categories) or "coordinates" (signed, as of an embedding).
    features : "auto": the columns or bins of them, whichever `holdfast advise` expects more of; "columns"; "bins".
    text : of columns of text whose values no schema states, "buckets" of a public hash are measured, or "names", those that
        many persons have, of one row each, for a tenth of delta: where people are to read them, or where frequent values are
        many.
    configuration : None: what `holdfast advise` advises, from public numbers alone. Else a dict {"section.key": value} of
        public settings of `holdfast train` beside that, or the path of a configuration (TOML) in place of it.
    verbose : says every command, by tqdm where that is installed.

    What is missing, found or refused is said by the program: driver.Error and its kinds (BudgetExhausted, InputError, …).

    Attributes
    ----------
    classes_ : [classes], sorted.   n_features_in_ : columns of X.   feature_names_in_ : their names, of a DataFrame.
    model_ : models.Model, as published.   guarantee_ : dict {status, statement, conditions, …} of that model.
    statement_ : text of `holdfast statement`, which may be published.   spent_ : dict, the account after this fit.
    schema_ : Schema that X is read by; of what was found in private records, for their owner alone.
    """

    def __init__(self, epsilon: float = 1.0, delta: float = 1e-5, *, schema: Any = None, classes: Sequence | None = None,
                 class_shares: Sequence[float] | None = None, expected_persons: int | None = None, ids: str | None = None,
                 rows_at_most: int | None = None, population: str | None = None,
                 ledger: str | os.PathLike | None = None, budget: tuple[float, float] | None = None,
                 columns: str = "amounts", features: str = "auto", text: str = "buckets",
                 configuration: Any = None, verbose: bool = False):
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.classes = classes
        self.class_shares = class_shares
        self.expected_persons = expected_persons
        self.ids = ids
        self.rows_at_most = rows_at_most
        self.population = population
        self.ledger = ledger
        self.budget = budget
        self.columns = columns
        self.features = features
        self.text = text
        self.configuration = configuration
        self.verbose = verbose

    def predict(self, X: Any) -> np.ndarray:
        """[n], the classes that the model answers for X [n, columns]; columns of a DataFrame are found by name."""
        header, rows = self._answers(X)
        answers = [self._by_name[row[header.index("class")]] for row in rows]
        return np.array(answers, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        """float64 [n, classes], in the order of classes_, to six digits."""
        header, rows = self._answers(X)
        place = {self._by_name[name.removeprefix("probability of ")]: at for at, name in enumerate(header) if name.startswith("probability of ")}
        if not place:
            raise AttributeError(f"a model with loss {self.model_.loss} gives no probabilities")
        found = np.array([[float(row[place[label]]) for label in self.classes_.tolist()] for row in rows])
        return found / found.sum(axis=1, keepdims=True)


class PrivateRegressor(RegressorMixin, PrivateModel):
    """A model of numbers under differential privacy, that anyone may have and ask as often as they like: linear in the
    columns or in bins of them, whichever `holdfast advise` expects to err less.

    Parameters
    ----------
    target_range : (low, high) of y, as public knowledge, where the schema does not state it: what lies outside counts as the
        nearer end. Answers lie about it in y's own units. None: that of y, found in the records.

    The others, and the attributes, are those of PrivateClassifier, but for classes.
    """

    _LABELS = ("the target's range", "target_range")

    def __init__(self, epsilon: float = 1.0, delta: float = 1e-5, *, schema: Any = None, target_range: tuple[float, float] | None = None,
                 expected_persons: int | None = None, ids: str | None = None, rows_at_most: int | None = None, population: str | None = None,
                 ledger: str | os.PathLike | None = None, budget: tuple[float, float] | None = None,
                 columns: str = "amounts", features: str = "auto", text: str = "buckets",
                 configuration: Any = None, verbose: bool = False):
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.target_range = target_range
        self.expected_persons = expected_persons
        self.ids = ids
        self.rows_at_most = rows_at_most
        self.population = population
        self.ledger = ledger
        self.budget = budget
        self.columns = columns
        self.features = features
        self.text = text
        self.configuration = configuration
        self.verbose = verbose

    def _check_labels(self, y: np.ndarray) -> np.ndarray:
        y = y.astype(np.float64)
        if not self._persons and not np.isfinite(y).all():  # of named persons such a row alone is left out
            raise ValueError("y has values that are no finite numbers (NaN or inf)")
        return y

    def _label_words(self, y: np.ndarray) -> list | None:
        if self.target_range is None:
            return None
        return ["--regression", "--target-range", ":".join(repr(float(end)) for end in self.target_range)]

    def _label_into(self, schema: Schema, y: np.ndarray) -> None:
        schema.pop("classes", None)
        schema["regression"] = True
        if self.target_range is not None:
            schema["target_range"] = [float(end) for end in self.target_range]
        elif not schema.get("target_range"):
            y = y[np.isfinite(y)]
            schema.update(target_range=[float(y.min()), float(y.max()) if y.max() > y.min() else float(y.min()) + 1], found=True)

    def _classes(self) -> int:
        return 1

    def predict(self, X: Any) -> np.ndarray:
        """float64 [n], the numbers that the model answers for X [n, columns]; columns of a DataFrame are found by name."""
        header, rows = self._answers(X)
        return np.array([float(row[header.index("prediction")]) for row in rows])
