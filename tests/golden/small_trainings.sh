#!/usr/bin/env bash
# The recorded small trainings are those that small_trainings.py computes; skipped without Python.
set -euo pipefail
if ! command -v python3 > /dev/null; then
    echo "SKIPPED: no python3"
    exit 77
fi
python3 "$(dirname "$0")/small_trainings.py" --check
