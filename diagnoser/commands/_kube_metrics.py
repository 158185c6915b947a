"""Metrics pages of servers in pods: through the API server's proxy, else through a port that is forwarded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from diagnoser.commands._kube_bundle import Bundle, stamp
from diagnoser.commands._kube_target import Container
from diagnoser.commands._kubectl import Forward, Kubectl
from diagnoser.values import dataclass

#: Seconds for one page, for a forwarded port to open, and the largest page in bytes.
_PAGE, _OPEN, _MOST = 15.0, 10.0, 32 << 20
#: The proxy is not allowed or does not work, which a forwarded port may.
_ANOTHER_WAY = ("forbidden", "no time", "failed", "not found")
_NOT_THERE = "could not find the requested"
#: Calls at once.
_TOGETHER = 4
_ENGINES = (b"\nvllm:", b"\nsglang:", b"\nsglang_", b"\nsmg_", b"\nvllm_router")


_One = TypeVar("_One")
_Answer = TypeVar("_Answer")


class Page(NamedTuple):
    """One page, and when it had come, seconds since the epoch."""

    text: bytes
    time: float


@dataclass(slots=True)
class Scraped:
    """A server whose metrics were found: asked again in the same way. ``pages`` counts what was kept."""

    container: Container
    port: int
    forward: Forward | None = None
    pages: int = 0


class Metrics:
    """Scrapes the servers of pods again and again."""

    def __init__(
        self, kubectl: Kubectl, namespace: str, bundle: Bundle, get: Callable[[int, str, bool], bytes]
    ) -> None:
        """Take ``get(port, path, tls)``, which reads from a forwarded port and raises ``ValueError`` in words."""
        self._kubectl, self._namespace, self._bundle, self._get = kubectl, namespace, bundle, get
        self.found: list[Scraped] = []

    def begin(self, containers: list[Container]) -> None:
        """Find the metrics of each container that may serve some, and keep the first page."""
        serving = [one for one in containers if one.ports]
        for container, found in zip(serving, self._together(self._find, serving), strict=True):
            if isinstance(found, str):
                self._miss(container, container.ports[0], found)
            else:
                self.found.append(found[0])
                self._keep(*found)

    def again(self) -> None:
        """Keep one more page of each server."""
        for one, page in zip(self.found, self._together(self._page, self.found), strict=True):
            if isinstance(page, str):
                self._miss(one.container, one.port, page)
            else:
                self._keep(one, page)

    def _together(self, ask: Callable[[_One], _Answer], asked: Sequence[_One]) -> list[_Answer]:
        with ThreadPoolExecutor(_TOGETHER) as pool:
            try:
                return list(pool.map(ask, asked))
            except BaseException:
                self._kubectl.stop()
                raise

    def close(self) -> None:
        """Close forwarded ports."""
        for one in self.found:
            if one.forward is not None:
                one.forward.close()

    def _find(self, container: Container) -> tuple[Scraped, Page] | str:
        """Return the first port with an engine's metrics, else one with any, else why there is none."""
        reasons: list[str] = []
        other: tuple[Scraped, Page] | None = None
        for port in container.ports:
            one = Scraped(container, port)
            page = self._page(one)
            late = isinstance(page, str) and page.startswith("no time")
            if isinstance(page, str) and page.partition(":")[0] in _ANOTHER_WAY and _NOT_THERE not in page:
                page = self._forwarded(one, page)
            if isinstance(page, str):
                reasons.append(f"port {port}: {page}")
                if late:  # where nothing answers in time, no other port does
                    break
            elif any(mark in b"\n" + page.text for mark in _ENGINES):
                self._dropped(other)
                return one, page
            elif b"# TYPE " in page.text and other is None:
                other = (one, page)
            else:
                reasons.append(f"port {port}: no metrics page")
                self._dropped((one, page))
        return other or "; ".join(reasons)

    def _dropped(self, other: tuple[Scraped, Page] | None) -> None:
        if other is not None and other[0].forward is not None:
            other[0].forward.close()

    def _page(self, one: Scraped) -> Page | str:
        """Return a page, or why there is none."""
        if one.forward is not None:
            try:
                return Page(self._get(one.forward.port, "/metrics", one.container.tls), time.time())
            except ValueError as error:
                return f"through a forwarded port: {error}"
        ran = self._kubectl.run(["get", "--raw", self._path(one.container, one.port)], _PAGE, _MOST)
        if ran.ok:
            return Page(ran.out, time.time())
        return f"no time: {ran.told}" if ran.failure == "no time" else ran.told

    def _path(self, container: Container, port: int) -> str:
        pod = f"{'https:' if container.tls else ''}{container.pod}:{port}"
        return f"/api/v1/namespaces/{self._namespace}/pods/{pod}/proxy/metrics"

    def _forwarded(self, one: Scraped, why: str) -> Page | str:
        place = [f"--namespace={self._namespace}", "--address=127.0.0.1"]
        forward = self._kubectl.forward(["port-forward", *place, f"pod/{one.container.pod}", f":{one.port}"], _OPEN)
        if not forward.port:
            forward.close()
            return f"{why}; port-forward: {forward.failure[1]}"
        one.forward = forward
        page = self._page(one)
        if isinstance(page, str):
            forward.close()
            one.forward = None
            return f"{why}; {page}"
        return page

    def _keep(self, one: Scraped, page: Page) -> None:
        one.pages += 1
        pod, name = one.container.pod, one.container.name
        alone = self._first_of(pod) is one
        file = f"{pod}/metrics-{one.pages}.prom" if alone else f"{pod}/{name}.metrics-{one.pages}.prom"
        head = f"# {stamp(page.time)} pod/{pod}/{name} port {one.port}\n".encode()
        self._bundle.add(file, head + page.text)

    def _first_of(self, pod: str) -> Scraped | None:
        return next((one for one in self.found if one.container.pod == pod), None)

    def _miss(self, container: Container, port: int, why: str) -> None:
        ran = self._kubectl.words("get", "--raw", self._path(container, port))
        self._bundle.miss(f"metrics of {container.pod}/{container.name}", why, " ".join(ran))
