"""The server of the playground. It listens on this machine only, and answers only the page that it has served.

A request must name the server exactly in its header ``Host``. A call must also come from the page itself: it has the
page's ``Origin``, and the token in the fragment of the page's address, which browsers do not send to any
server. So no other page in the browser can make a call.

>>> server = PlaygroundServer()
>>> server.address.rpartition("#")[0].startswith("http://127.0.0.1:")
True
>>> server.server_close()
"""

from __future__ import annotations

import hmac
import json
import secrets
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler
from importlib import resources
from socketserver import ThreadingTCPServer
from typing import Any

from gatherscatter.explaining.playground.texts import TYPES, presets
from gatherscatter.messages.choices import SCALE_TYPES
from gatherscatter.pages.template import render
from gatherscatter.specs.rows import INTEGERS, Input
from gatherscatter.specs.table import SPECIFICATIONS, TABLE, OpVersion
from gatherscatter.system.processes import AnsweringProcess, NoAnswerError

_HOST = "127.0.0.1"
MOST_BYTES = 64 * 1024  # of a request
TIME_LIMIT = 2.0  # seconds for a call
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself holds the other rules
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_SCRIPTS = ("dom.js", "clipboard.js", "walk.js", "playground.js")


class PlaygroundServer(ThreadingTCPServer):
    """A server on a free port of the loopback address. ``address`` is that of the page, with the token."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((_HOST, 0), _Handler)
        self.host = f"{_HOST}:{self.server_address[1]}"
        self.token = secrets.token_hex(16)
        self.calls = AnsweringProcess("gatherscatter.explaining.playground.calls", time_limit=TIME_LIMIT)

    @property
    def address(self) -> str:
        return f"http://{self.host}/#{self.token}"

    def server_close(self) -> None:
        """Close the socket, and end the process of the calls."""
        super().server_close()
        self.calls.close()


class _Handler(BaseHTTPRequestHandler):
    """Serves the page for GET /, and makes a call for POST /call."""

    server: PlaygroundServer
    timeout = 10  # seconds without a byte

    def do_GET(self) -> None:
        if self._names_server() and self._has_path("/"):
            self._write(200, "text/html; charset=utf-8", page())

    def do_POST(self) -> None:
        if self._names_server() and self._is_own_page() and self._has_path("/call"):
            body = self._read_json()
            if body is not None:
                self._write(200, "application/json", self._make_call(body))

    def _names_server(self) -> bool:
        return self._accept(403, self.headers.get_all("Host") == [self.server.host], "the Host is not this server")

    def _is_own_page(self) -> bool:
        origin = self.headers.get_all("Origin") == [f"http://{self.server.host}"]
        token = hmac.compare_digest(self.headers.get("X-Token", "").encode(), self.server.token.encode())
        own = self._accept(403, origin, "the call comes from another page")
        return own and self._accept(403, token, "the token is wrong: open the address that the command printed")

    def _has_path(self, path: str) -> bool:
        return self._accept(404, self.path == path, "there is no such page")

    def _read_json(self) -> bytes | None:
        kind, length = self.headers.get("Content-Type", ""), self.headers.get("Content-Length", "")
        if not self._accept(415, kind == "application/json", "a call is JSON"):
            return None
        if not self._accept(411, length.isascii() and length.isdigit() and len(length) < 10, "the length is missing"):
            return None
        if not self._accept(413, int(length) <= MOST_BYTES, f"a call has at most {MOST_BYTES} bytes"):
            return None
        return self.rfile.read(int(length))

    def _make_call(self, body: bytes) -> bytes:
        try:
            return self.server.calls.ask(body)
        except NoAnswerError as error:
            return json.dumps({"mistake": f"the call has no result: {error}"}).encode()

    def _accept(self, status: int, condition: bool, text: str) -> bool:
        """Refuse the request with a sentence unless the condition holds."""
        if not condition:
            self.send_error(status, text)
        return condition

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send one line of text, also for requests that the base class refuses."""
        self._write(code, "text/plain; charset=utf-8", (message or "this request is not understood").encode())

    def _write(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **_HEADERS}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):  # the page does not wait for a call that was edited meanwhile
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    def version_string(self) -> str:
        return "gatherscatter"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the page shows what is wrong."""


@cache
def page() -> bytes:
    """Return the page."""
    ops = [_describe(row) for row in TABLE]
    table = {"ops": ops, "types": TYPES, "domains": SPECIFICATIONS, "most_bytes": MOST_BYTES}
    return render(
        resources.files("gatherscatter.explaining"),
        "playground.html",
        styles=("page.css", "playground.css"),
        scripts=_SCRIPTS,
        rules=("connect-src 'self'",),
        data={"table": table},
    ).encode()


def _describe(row: OpVersion) -> dict[str, Any]:
    """Return the facts that the form needs."""
    attributes = [
        {
            "name": one.name,
            "choices": ("true", "false") if one.type == "bool" else one.choices,
            "default": None if one.is_required else one.default_text,
        }
        for one in row.attributes
    ]
    inputs = [{"name": one.name, "optional": one.optional, "types": _list_types(row, one)} for one in row.inputs]
    facts = {name: getattr(row, name) for name in ("name", "domain", "op_type", "version", "deprecated")}
    return {**facts, "inputs": inputs, "attributes": attributes, "presets": [one._asdict() for one in presets(row)]}


def _list_types(row: OpVersion, known: Input) -> tuple[str, ...]:
    named = {"data": row.element_types, "scales": SCALE_TYPES, "axis": INTEGERS}
    return named.get(known.kind) or row.index_types or row.element_types
