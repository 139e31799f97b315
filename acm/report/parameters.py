"""Check the parameters that Papermill gives to a notebook."""

from __future__ import annotations

import ast

from acm.errors import UsageError, unknown


def check_parameters() -> None:
    """Stop at a parameter that the notebook does not have; read numbers that are given as text.

    Papermill writes the given values into a cell of their own, after the cell with the defaults.
    This function must be called in the next cell. It converts a text such as `1e-3`, which YAML
    does not read as a number, if the default is not a text.

    Raises:
        UsageError: If the notebook does not have one of the parameters.
    """
    from IPython import get_ipython

    shell = get_ipython()
    variables = shell.user_ns if shell else {"In": []}  # a notebook as a script has no shell
    before, injected = ["", "", "", *variables["In"]][-3:-1]  # nbval keeps no history
    if not injected.startswith("# Parameters"):
        return
    defaults = _assigned(before)
    for name in _assigned(injected):
        if not defaults:
            raise UsageError(f"this notebook has no parameters, so no {name!r}")
        if name not in defaults:
            raise unknown("parameter", name, defaults)
        if isinstance(variables[name], str) and not isinstance(defaults[name], str):
            variables[name] = _number(variables[name])


def _assigned(cell: str) -> dict[str, object]:
    """Return the values that a cell of plain assignments gives to names."""
    values: dict[str, object] = {}
    for line in ast.parse(cell).body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None:
            target = line.targets[0] if isinstance(line, ast.Assign) else line.target
            values[ast.unparse(target)] = ast.literal_eval(line.value)
    return values


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
