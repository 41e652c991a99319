#!/bin/bash
# The action's first step: rlprof in a virtual environment of its own, so that nothing of the job's changes.
# Takes $INPUT_RLPROF; hands out `rlprof` and the `python` that runs the next step.
set -euo pipefail

hand_out() { # RLPROF PYTHON
    "$1" --version
    printf 'rlprof=%s\npython=%s\n' "$1" "$2" >> "$GITHUB_OUTPUT"
}

is_suitable() { # PYTHON [MODULE], the module being what Debian leaves out of python3
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
        && "$1" -c "import venv${2:+, $2}" 2>/dev/null
}

pick_python() { # [MODULE]
    for python in python3 python /usr/bin/python3; do
        if is_suitable "$python" "$@"; then return; fi
    done
    echo "::error title=rlprof check::No Python 3.10 or newer with the modules venv and ensurepip was found. Add actions/setup-python before this step; the training may use another Python (input: python)."
    exit 4
}

what=${INPUT_RLPROF:-$GITHUB_ACTION_PATH}

if [ -f "$what" ] && [ -x "$what" ]; then
    pick_python
    hand_out "$what" "$python"
    exit
fi

pick_python ensurepip
environment=$RUNNER_TEMP/rlprof-environment
"$python" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$what"
hand_out "$environment/bin/rlprof" "$environment/bin/python"
