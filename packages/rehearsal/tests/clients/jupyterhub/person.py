"""A person with a browser: logs in, chooses a size, runs a cell, looks at the page."""

from __future__ import annotations

import json
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any, Final

import requests
import websocket

_ANSWER_SECONDS: Final = 60.0


@dataclass
class Person:
    """``hub`` is the address that browsers use, the proxy's."""

    hub: str
    name: str
    session: requests.Session = field(default_factory=requests.Session)

    def log_in(self, password: str) -> bool:
        """Whether the hub lets the person in."""
        self._get("/hub/login")
        data = {"username": self.name, "password": password, "_xsrf": self._xsrf("/hub/")}
        answer = self.session.post(f"{self.hub}/hub/login", data=data, timeout=_ANSWER_SECONDS)
        return answer.ok and self._get("/hub/home").url == f"{self.hub}/hub/home"

    def sizes(self) -> str:
        """The page on which a size is chosen."""
        return self._get("/hub/spawn").text

    def choose(self, size: str) -> None:
        data = {"profile": size, "_xsrf": self._xsrf("/hub/")}
        answer = self.session.post(f"{self.hub}/hub/spawn", data=data, timeout=_ANSWER_SECONDS)
        answer.raise_for_status()
        assert "/hub/spawn-pending/" in answer.url, answer.text

    def is_in(self) -> bool:
        """Whether the notebook's own server answers, which sends a browser to the hub's login and back."""
        page = self._get(f"/user/{self.name}/lab")
        return page.ok and self._own_server(page) and self.ask("status") is not None

    def ask(self, what: str) -> Any:
        """What the page of a notebook asks its server for; None where no server answers."""
        url = f"{self.hub}/user/{self.name}/api/{what}"
        answer = self.session.get(url, headers=self._own(), timeout=_ANSWER_SECONDS)
        return answer.json() if answer.ok and self._own_server(answer) else None

    def cell(self, code: str) -> Cell:
        """Start a kernel and let it compute; its page stays connected until ``Cell.close``."""
        url = f"{self.hub}/user/{self.name}/api/kernels"
        made = self.session.post(url, json={}, headers=self._own(), timeout=_ANSWER_SECONDS)
        made.raise_for_status()
        url = f"{url}/{made.json()['id']}/channels"
        prepared = self.session.prepare_request(requests.Request("GET", url))
        socket = websocket.create_connection(
            url.replace("http", "ws", 1), cookie=prepared.headers["Cookie"], origin=self.hub, timeout=_ANSWER_SECONDS
        )
        message = uuid.uuid4().hex
        header = {"msg_id": message, "msg_type": "execute_request", "session": "page", "username": self.name}
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        asked = {"header": {**header, "version": "5.3"}, "parent_header": {}, "metadata": {}, "content": content}
        socket.send(json.dumps({**asked, "channel": "shell", "buffers": []}))
        return Cell(made.json()["id"], message, socket)

    def stop(self) -> None:
        """As the page's button does."""
        url, headers = f"{self.hub}/hub/api/users/{self.name}/server", {"X-XSRFToken": self._xsrf("/hub/")}
        answer = self.session.delete(url, headers=headers, timeout=_ANSWER_SECONDS)
        answer.raise_for_status()

    def _get(self, path: str) -> requests.Response:
        return self.session.get(f"{self.hub}{path}", timeout=_ANSWER_SECONDS)

    def _own_server(self, answer: requests.Response) -> bool:
        """Whether it comes from the notebook's server; the hub answers in its place while there is none."""
        return answer.url.startswith(f"{self.hub}/user/{self.name}/")

    def _own(self) -> dict[str, str]:
        """How a request tells that it comes from the notebook's own page."""
        return {"X-XSRFToken": self._xsrf(f"/user/{self.name}/")}

    def _xsrf(self, path: str) -> str:
        (cookie,) = [each.value for each in self.session.cookies if each.name == "_xsrf" and each.path == path]
        return cookie or ""


@dataclass
class Cell:
    """A cell that computes in the kernel ``kernel``."""

    kernel: str
    message: str
    socket: websocket.WebSocket

    def status(self) -> str:
        """``ok`` or ``error``, once it is done."""
        while True:
            try:
                heard = json.loads(self.socket.recv())
            except websocket.WebSocketTimeoutException:
                continue
            if heard["msg_type"] == "execute_reply" and heard["parent_header"].get("msg_id") == self.message:
                status: str = heard["content"]["status"]
                return status

    def close(self) -> None:
        self.socket.close()


class OpenTab(threading.Thread):
    """A page that is left open: it asks for what such a page asks all the time, and for nothing else."""

    ASKS: Final = ("status", "kernels", "sessions", "terminals", "kernelspecs")

    def __init__(self, person: Person) -> None:
        super().__init__(name=f"tab of {person.name}", daemon=True)
        # A session of its own: those of requests are for one thread.
        self._person = Person(person.hub, person.name)
        self._person.session.cookies.update(person.session.cookies)
        self._closed = threading.Event()

    def run(self) -> None:
        while not self._closed.wait(1):
            for what in self.ASKS:
                self._person.ask(what)

    def close(self) -> None:
        self._closed.set()
        self.join()
