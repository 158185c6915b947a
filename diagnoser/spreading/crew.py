"""Tasks over an executor: bounded in flight, and none is lost without a word when a worker dies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import Any, TypeVar

from diagnoser.language import Sentence
from diagnoser.values import dataclass

#: Tasks in flight for each worker: one at work, one that waits for it.
AHEAD = 2
#: Tasks in a row that end their worker although they are alone: it is not the tasks.
HOPELESS = 3

Task = tuple[Any, ...]
_Numbered = tuple[int, Task]
_T = TypeVar("_T")


@dataclass(slots=True)
class Lost:
    """A task without a result, and why."""

    why: str


class Crew:
    """Workers behind an executor. ``start`` makes one; after a death it is asked for a new one.

    ``size`` tells how many workers there are, ``near`` whether they are processes of this machine.
    """

    def __init__(self, start: Callable[[], Executor], size: int, near: bool = False) -> None:
        self._start = start
        self.near = near
        self.size = max(1, size)
        self._executor: Executor | None = None
        self._deaths = 0

    def close(self) -> None:
        """Let the workers go."""
        if self._executor is not None:
            self._executor.shutdown(wait=True)
            self._executor = None

    def give(self, function: Callable[..., _T], *task: Any) -> Future[_T] | None:
        """Give out one task that is not done again if its worker dies; None when no worker lives long enough."""
        if self._deaths >= HOPELESS:
            return None
        try:
            return self._workers().submit(function, *task)
        except BrokenExecutor:
            self._deaths += 1
            self._drop()
            return None

    def each(self, function: Callable[..., Any], tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        """Yield (place of the task, its result or ``Lost``) as they come.

        When a worker dies, nobody knows which of the tasks at hand was its end: these are done once more, one by one
        after all others, and one that ends its worker again is lost.
        """
        coming = enumerate(tasks)
        running: dict[Future[Any], _Numbered] = {}
        suspects: list[_Numbered] = []
        while True:
            broken = self._fill(function, coming, running, suspects)
            if not running and not broken:
                break
            done = wait(running, return_when=FIRST_COMPLETED).done if running else set()
            for future in done:
                one = running.pop(future)
                try:
                    yield one[0], future.result()
                except BrokenExecutor:
                    suspects.append(one)
                    broken = True
                except (Exception, CancelledError) as error:
                    yield one[0], Lost(told(error))
            if broken:
                # Whatever had not ended is gone with its workers.
                for future in [future for future in running if future.done() and future.exception() is None]:
                    yield running.pop(future)[0], future.result()
                suspects += running.values()
                running.clear()
                self._drop()
        yield from self._alone(function, sorted(suspects, key=lambda one: one[0]))

    def _fill(
        self,
        function: Callable[..., Any],
        coming: Iterator[_Numbered],
        running: dict[Future[Any], _Numbered],
        suspects: list[_Numbered],
    ) -> bool:
        """Hand out tasks as long as workers are free; True when the executor takes none any more."""
        while len(running) < self.size * AHEAD and (one := next(coming, None)) is not None:
            try:
                running[self._workers().submit(function, *one[1])] = one
            except BrokenExecutor:
                suspects.append(one)
                return True
        return False

    def _alone(self, function: Callable[..., Any], suspects: list[_Numbered]) -> Iterator[tuple[int, Any]]:
        deaths = 0
        for place, task in suspects:
            if deaths >= HOPELESS:
                yield place, Lost(Sentence("no worker lives long enough to read it"))
                continue
            try:
                result = self._workers().submit(function, *task).result()
            except BrokenExecutor:
                self._drop()
                deaths += 1
                yield place, Lost(Sentence("its worker process ended twice over it (out of memory?)"))
            except (Exception, CancelledError) as error:
                yield place, Lost(told(error))
            else:
                deaths = 0
                yield place, result

    def _workers(self) -> Executor:
        if self._executor is None:
            self._executor = self._start()
        return self._executor

    def _drop(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)


def told(error: BaseException) -> str:
    """Say in one line why a task has no result."""
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
