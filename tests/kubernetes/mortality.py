"""An operator that is killed after each of its writes, before it gets the answer, and started again."""

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.kubernetes import operators
from tests.kubernetes.meddler import Meddler, Write
from tests.kubernetes.operators import Operator

EVENTS = re.compile(r"/events$")  # writes after which it lives on: Events only report what it has done


@contextlib.contextmanager
def killed_after_each_write(proxy: Meddler, log: Path, namespace: str) -> Iterator[list[Operator]]:
    """Have such an operator for as long as the block takes; what it had been before is in the list.

    It looks after one namespace: elsewhere there may be a hundred MiniClusters of other tests that are going.
    """
    lives: list[Operator] = []
    writes: list[Write] = []
    options = ("--namespace", namespace, "--no-leader-election")
    over = threading.Event()
    turn = threading.Lock()

    def replace() -> None:
        with turn:
            if lives:
                lives[-1].kill()
            if not over.is_set():
                lives.append(operators.start(proxy.kubeconfig, log, *options))

    def keep() -> None:
        """Start it again where it has ended by itself, as a supervisor does."""
        while not over.wait(0.1):
            if lives[-1].process.poll() is not None:
                replace()

    def after(write: Write, status: int) -> None:
        if status < 300 and not EVENTS.search(write.path):
            writes.append(write)
            replace()

    proxy.begin(after=after)
    replace()
    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield lives
    except AssertionError as error:
        fatal = Counter(f"{each.method} {each.path}" for each in writes).most_common()
        raise AssertionError(f"{error}\nkilled after {fatal}\n{lives[-1].text()}") from error
    finally:
        proxy.begin()
        over.set()
        keeper.join()
        replace()
