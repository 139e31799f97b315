"""What to say where memory runs out: which of the sizes that were asked for is beyond the usual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

FAULT = "there is not enough memory for this"

_WORDS = (
    "allocate memory",
    "enough memory",
    "out of memory",
    "size calculation overflowed",
    "integer multiplication overflow",
)


def is_memory(error: Exception) -> bool:
    """Whether memory ran out, or could never do; PyTorch says so in words."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(words in said for words in _WORDS)


@contextmanager
def memory_for(model: str, sizes: Mapping[str, object]) -> Iterator[None]:
    """A block that turns memory running out into a `UsageError` that names what is too large.

    Args:
        model: What is trained, in any case.
        sizes: `hidden` and the model's own hyperparameters as they were asked for, text or number.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_memory(error):
            raise
        from acm.errors import UsageError

        raise UsageError(f"{FAULT}: {_advice(model, sizes)}") from error


def _advice(model: str, sizes: Mapping[str, object]) -> str:
    from acm.experiments.options import own
    from acm.experiments.recipes import WIDTH
    from acm.nn import model_name

    model = model_name(model)
    usual = {name: n for name, n in ({"hidden": WIDTH} | own(model)).items() if type(n) is int}
    given = {name: int(sizes[name]) for name in usual if sizes.get(name) is not None}
    large = {name: n / usual[name] for name, n in given.items() if n > usual[name] > 0}
    if not large:
        return (
            f"the sizes of {model} are the usual ones, so fewer --processes or more memory may do"
        )
    said = [
        f"{'--hidden ' if name == 'hidden' else f'--own {name}='}{given[name]}"
        f" ({usual[name]} is usual)"
        for name in sorted(large, key=large.get, reverse=True)
    ]
    return f"a smaller {' or '.join(said)} may do"
