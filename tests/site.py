"""A web site on this machine that answers as told: in parts, with errors, too slowly, or elsewhere."""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site(ThreadingHTTPServer):
    """What it has, what goes wrong with it, and what it was asked for."""

    daemon_threads = True

    def __init__(self, content: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.content = dict(content)
        self.codes: dict[str, list[int]] = defaultdict(list)  # of the next answers for a path
        self.cuts: dict[str, list[int]] = defaultdict(list)  # bytes that the next answers come to
        self.stalls = False  # whether a cut answer stays open
        self.wake = threading.Event()
        self.ranges = True
        self.lengths = True  # whether the size is told beforehand
        self.redirect = ""
        self.asked: list[str] = []
        self.began: list[str] = []  # of every request, the range
        self.agents: set[str] = set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        site, path = self.server, self.path.lstrip("/").removeprefix("moved/")
        site.asked.append(path)
        site.began.append(self.headers.get("Range", ""))
        site.agents.add(self.headers.get("User-Agent", ""))
        if site.codes[path]:
            self.send_error(site.codes[path].pop(0))
        elif path not in site.content:
            self.send_error(404)
        elif site.redirect and not self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", site.redirect + path)
            self.end_headers()
        else:
            self._send(path)

    def _send(self, path: str) -> None:
        site, content = self.server, self.server.content[path]
        start = int(self.headers.get("Range", "bytes=0-")[6:-1]) if site.ranges else 0
        if start and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if site.lengths:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # whoever has had enough hangs up
            if site.cuts[path]:
                self.wfile.write(content[start : start + site.cuts[path].pop(0)])
                if site.stalls:
                    self.wfile.flush()
                    site.wake.wait(10)
            else:
                self.wfile.write(content[start:])

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the tests clean."""


@contextlib.contextmanager
def serving(content: dict[str, bytes]) -> Iterator[Site]:
    """The site, while somebody asks it."""
    with Site(content) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            site.wake.set()
            site.shutdown()
            thread.join()
