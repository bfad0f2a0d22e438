"""Private models of tables, by the program `holdfast`: fit, predict, and a statement of what that cost.

    model = holdfast.PrivateClassifier(epsilon=1).fit(X, y)
    model.predict(X_new), model.explain(), model.save("model.h5")

Every fit is a row of commands of the program, one process each, through files in a private folder that is removed; what it
refuses is raised with its own words. tools/python/README.md shows more; the guarantees are those of the program.
"""

from __future__ import annotations

import importlib
import typing

from .driver import (
    ArithmeticFault,
    BudgetExhausted,
    CommunicationError,
    Error,
    InputError,
    InternalError,
    Interrupted,
    OutOfMemory,
    OutputError,
    UsageError,
    program,
    run,
)
from .ledger import Ledger
from .tables import Schema, read_parquet

if typing.TYPE_CHECKING:
    from .estimators import PrivateClassifier, PrivateRegressor
    from .owners import CertifiedClassifier, LeaveOneOut
    from .table_models import FoundInRecords

# What needs more than numpy and h5py is imported when it is asked for.
LATER = {"CertifiedClassifier": "owners", "LeaveOneOut": "owners",
         "PrivateClassifier": "estimators", "PrivateRegressor": "estimators", "FoundInRecords": "table_models"}
MODULES = ("driver", "estimators", "features", "layers", "models", "owners", "runs", "schema", "table_models", "torch")

__all__ = ["ArithmeticFault", "BudgetExhausted", "CommunicationError", "Error", "InputError", "InternalError", "Interrupted", "Ledger",
           "OutOfMemory", "OutputError", "Schema", "UsageError", "program", "read_parquet", "run", *LATER]


def __getattr__(name: str) -> typing.Any:
    if name in LATER:
        return getattr(importlib.import_module(f".{LATER[name]}", __name__), name)
    if name in MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
