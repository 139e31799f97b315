"""What the tests let workers do; a module of its own, which workers can import quickly."""

import os
import signal
import time
from pathlib import Path


def double(number: int) -> int:
    return 2 * number


def die(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(path: str) -> int:
    """Dies at the first call with this path, and only then."""
    if Path(path).exists():
        return os.getpid()
    Path(path).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def pid_slowly(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def touch_and_sleep(path: str) -> None:
    Path(path).touch()
    time.sleep(300)


def fail(number: int) -> None:
    raise ZeroDivisionError(f"at {number}")


def timeout(number: int) -> str | None:
    return os.environ.get("ACM_DATA_TIMEOUT")
