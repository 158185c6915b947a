"""A kubectl for tests: replays what `replies.json` beside `KUBECTL_REPLAY` says, writes down what it was asked.

A reply is the first whose words are all among the arguments: ``out`` (text), ``err``, ``code``, ``sleep``
seconds, ``listen`` (a page served on a port of this machine, as port-forward does), ``flood`` (bytes without end),
``child`` (a process that keeps the pipe open). ``outs`` gives another text each time.
"""

# ruff: noqa: PTH123 - it starts a hundred times in the tests: nothing is imported that is not needed
from __future__ import annotations

import json
import os
import sys
import time


def main() -> int:
    home = os.environ["KUBECTL_REPLAY"]
    words = sys.argv[1:]
    with open(f"{home}/asked.jsonl", "a") as file:
        file.write(json.dumps(words) + "\n")
    with open(f"{home}/replies.json") as file:
        replies = json.load(file)
    reply = next((one for one in replies if set(one["words"]) <= set(words)), None)
    if reply is None:
        print(f"error: no reply for {words}", file=sys.stderr)
        return 1
    if "child" in reply:
        import subprocess

        with subprocess.Popen(["sleep", str(reply["child"])]) as child:
            with open(f"{home}/child.pid", "w") as file:
                file.write(str(child.pid))
            return child.wait()
    if "listen" in reply:
        listen(reply["listen"])
    if "flood" in reply:
        while True:
            sys.stdout.write(reply["flood"] * 1000)
    if "outs" in reply:
        with open(f"{home}/asked.jsonl") as file:
            count = sum(json.loads(line) == words for line in file)
        sys.stdout.write(reply["outs"][min(count, len(reply["outs"])) - 1])
    sys.stdout.write(reply.get("out", ""))
    sys.stdout.flush()
    sys.stderr.write(reply.get("err", ""))
    sys.stderr.flush()
    time.sleep(reply.get("sleep", 0))
    return int(reply.get("code", 0))


def listen(page: str) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(f"Forwarding from 127.0.0.1:{server.server_port} -> 8000", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
