"""Make records without training, for tests that store, read or compare records."""

from acm.experiments import Record, Trial, trials_of


def make_record(trial: Trial, test_accuracy: float = 0.5, **changes) -> Record:
    """Return a finished trial with an invented outcome, whose texts are hard to write to a CSV."""
    outcome = {
        "val_accuracy": 1 / 3,
        "test_accuracy": test_accuracy,
        "val_loss": 0.1 + 0.2,
        "best_epoch": 7,
        "epochs": 203,
        "seconds": 1.25,
        "stacked": True,
        "device": 'cpu: a "quoted", CPU',
        "threads": 1,
        "versions": "python 3, torch 2",
        "commit": "abc+",
    }
    return Record(**vars(trial), **(outcome | changes))


def make_records(model: str, dataset: str, *accuracies: float, **options) -> list[Record]:
    """Return one record per test accuracy, each of another split; `options` go to `trials_of`."""
    trials = trials_of(dataset, model, splits=len(accuracies), **options)
    return [make_record(trial, accuracy) for trial, accuracy in zip(trials, accuracies)]
