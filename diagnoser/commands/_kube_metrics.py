"""Metrics pages of servers in pods: through the API server's proxy, else through a port that is forwarded."""

from __future__ import annotations

import time
from collections.abc import Callable

from diagnoser.commands._kube_bundle import Bundle, stamp
from diagnoser.commands._kube_target import Container
from diagnoser.commands._kubectl import Forward, Kubectl
from diagnoser.values import dataclass

#: Seconds for one page, for a forwarded port to open, and the largest page in bytes.
_PAGE, _OPEN, _MOST = 15.0, 10.0, 32 << 20
#: The proxy is not allowed or does not work, which a forwarded port may.
_ANOTHER_WAY = ("forbidden", "no time", "failed", "not found")
_ENGINES = (b"\nvllm:", b"\nsglang:", b"\nsglang_", b"\nsmg_", b"\nvllm_router")


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
        for one in containers:
            if one.ports:
                self._find(one)

    def again(self) -> None:
        """Keep one more page of each server."""
        for one in self.found:
            page, why = self._page(one)
            if page is None:
                self._miss(one.container, one.port, why)
            else:
                self._keep(one, page)

    def close(self) -> None:
        """Close forwarded ports."""
        for one in self.found:
            if one.forward is not None:
                one.forward.close()

    def _find(self, container: Container) -> None:
        reasons: list[str] = []
        other: tuple[Scraped, bytes] | None = None
        for port in container.ports:
            one = Scraped(container, port)
            page, why = self._page(one)
            if page is None and why.partition(":")[0] in _ANOTHER_WAY and "could not find the requested" not in why:
                page, why = self._forwarded(one, why)
            if page is None:
                reasons.append(f"port {port}: {why}")
            elif any(mark in b"\n" + page for mark in _ENGINES):
                self._begun(one, page)
                self._dropped(other)
                return
            elif b"# TYPE " in page and other is None:
                other = (one, page)
            else:
                reasons.append(f"port {port}: no metrics page")
                self._dropped((one, page))
        if other is not None:
            self._begun(*other)
        else:
            self._miss(container, container.ports[0], "; ".join(reasons))

    def _dropped(self, other: tuple[Scraped, bytes] | None) -> None:
        if other is not None and other[0].forward is not None:
            other[0].forward.close()

    def _begun(self, one: Scraped, page: bytes) -> None:
        self.found.append(one)
        self._keep(one, page)

    def _page(self, one: Scraped) -> tuple[bytes | None, str]:
        if one.forward is not None:
            try:
                return self._get(one.forward.port, "/metrics", one.container.tls), ""
            except ValueError as error:
                return None, f"through a forwarded port: {error}"
        ran = self._kubectl.run(["get", "--raw", self._path(one.container, one.port)], _PAGE, _MOST)
        return (ran.out, "") if ran.ok else (None, ran.told if ran.failure != "no time" else f"no time: {ran.told}")

    def _path(self, container: Container, port: int) -> str:
        pod = f"{'https:' if container.tls else ''}{container.pod}:{port}"
        return f"/api/v1/namespaces/{self._namespace}/pods/{pod}/proxy/metrics"

    def _forwarded(self, one: Scraped, why: str) -> tuple[bytes | None, str]:
        place = [f"--namespace={self._namespace}", "--address=127.0.0.1"]
        forward = self._kubectl.forward(["port-forward", *place, f"pod/{one.container.pod}", f":{one.port}"], _OPEN)
        if not forward.port:
            forward.close()
            return None, f"{why}; port-forward: {forward.failure[1]}"
        one.forward = forward
        page, told = self._page(one)
        if page is None:
            forward.close()
            one.forward = None
        return page, f"{why}; {told}" if told else ""

    def _keep(self, one: Scraped, page: bytes) -> None:
        one.pages += 1
        pod, name = one.container.pod, one.container.name
        alone = self._first_of(pod) is one
        file = f"{pod}/metrics-{one.pages}.prom" if alone else f"{pod}/{name}.metrics-{one.pages}.prom"
        head = f"# {stamp(time.time())} pod/{pod}/{name} port {one.port}\n".encode()
        self._bundle.add(file, head + page)

    def _first_of(self, pod: str) -> Scraped | None:
        return next((one for one in self.found if one.container.pod == pod), None)

    def _miss(self, container: Container, port: int, why: str) -> None:
        ran = self._kubectl.words("get", "--raw", self._path(container, port))
        self._bundle.miss(f"metrics of {container.pod}/{container.name}", why, " ".join(ran))
