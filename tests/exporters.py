"""Servers on loopback for tests: exporters that replay recorded pages, and ones that misbehave."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: Bounds of the recorded histogram, seconds.
BOUNDS = (0.05, 0.1, 0.5, 1.0, 5.0)


def page(at: int, running: int = 4, waiting: int = 0, usage: float = 0.3, model: str = "acme/m") -> str:
    """One page of a vLLM server that made 1000 tokens and answered 10 requests since the page before."""
    labels = f'engine="0",model_name="{model}"'
    lines = [
        "# HELP vllm:num_requests_running Number of requests in model execution batches.",
        "# TYPE vllm:num_requests_running gauge",
        f"vllm:num_requests_running{{{labels}}} {running}.0",
        "# TYPE vllm:num_requests_waiting gauge",
        f"vllm:num_requests_waiting{{{labels}}} {waiting}.0",
        "# TYPE vllm:kv_cache_usage_perc gauge",
        f"vllm:kv_cache_usage_perc{{{labels}}} {usage}",
        "# TYPE vllm:generation_tokens_total counter",
        f"vllm:generation_tokens_total{{{labels}}} {50_000 + 1000 * at}.0",
        "# TYPE vllm:prompt_tokens_total counter",
        f"vllm:prompt_tokens_total{{{labels}}} {90_000 + 2000 * at}.0",
        "# TYPE vllm:num_preemptions_total counter",
        f"vllm:num_preemptions_total{{{labels}}} 0.0",
        "# TYPE vllm:time_to_first_token_seconds histogram",
    ]
    # Of ten requests five answer within 0.1 s and all within 0.5 s; before the first page it was the slowest bucket.
    for bound, share in zip((*BOUNDS, "+Inf"), (0, 5, 10, 10, 10, 10), strict=True):
        before = 100 if bound in (5.0, "+Inf") else 0
        lines.append(f'vllm:time_to_first_token_seconds_bucket{{{labels},le="{bound}"}} {before + share * at}.0')
    lines += [
        f"vllm:time_to_first_token_seconds_count{{{labels}}} {100 + 10 * at}.0",
        f"vllm:time_to_first_token_seconds_sum{{{labels}}} {300 + 2.0 * at}",
        "# TYPE process_cpu_seconds_total counter",
        f"process_cpu_seconds_total {at}.5",
    ]
    return "\n".join(lines) + "\n"


class Handler(BaseHTTPRequestHandler):
    """Hands every request to the server's own function."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append(self)  # type: ignore[attr-defined]
        self.close_connection = True
        with contextlib.suppress(ConnectionError):
            self.server.answer(self)  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        usual = {"Content_Type": "text/plain", "Content_Length": str(len(body))}
        for name, text in {**usual, **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """A server on a free port of loopback; ``asked`` has the requests that came."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Handler], None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.asked: list[Handler] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what is tested."""


@contextlib.contextmanager
def serving(answer: Callable[[Handler], None]) -> Iterator[Server]:
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def replay(pages: Sequence[str]) -> Callable[[Handler], None]:
    """Answer with the pages one after the other; the last one stays."""
    left = list(pages)

    def answer(handler: Handler) -> None:
        body = left.pop(0) if len(left) > 1 else left[0]
        if handler.path.partition("?")[0] == "/metrics":
            handler.send(body.encode())
        else:
            handler.send(b"no", 404)

    return answer
