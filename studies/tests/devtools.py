"""A page in headless Chromium, over the pipe of the DevTools protocol: no package, no port."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip

PATIENCE = 600.0
"""Seconds before a wait is taken for a hang: far more than a loaded machine needs."""

# Chromium reads from descriptor 3 and writes to descriptor 4.
SHIM = """
import os, sys
os.dup2(int(sys.argv[1]), 100), os.dup2(int(sys.argv[2]), 101)
os.dup2(100, 3), os.dup2(101, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One page: what it says on the console, what it asks of the network, what it shows."""

    def __init__(self, folder: Path, width: int = 1280, dark: bool = False):
        self._process, self._to, self._from = _start(folder)
        self._left, self._next, self.events = b"", 0, []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[theme])
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def open(self, path: Path) -> None:
        """Opens a file and waits until it is loaded."""
        self.go(path.as_uri())

    def go(self, url: str) -> None:
        """Opens an address and waits until it is loaded."""
        self.ask("Page.navigate", url=url)
        while not self.seen("Page.loadEventFired"):
            self._read()

    def ask(self, method: str, **parameters):
        return self._ask(method, session=self._session, **parameters)

    def run(self, script: str):
        """The value of a JavaScript expression."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, script: str, patience: float = PATIENCE) -> None:
        """Waits until a JavaScript expression is true."""
        end = time.monotonic() + patience
        while not self.run(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Presses a key and lets it go."""
        for kind in ("keyDown", "keyUp"):
            given = {"text": text} if text and kind == "keyDown" else {}
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=code, **given,
            )  # fmt: skip

    def seen(self, *methods: str) -> list[dict]:
        """The events of these kinds so far."""
        return [event["params"] for event in self.events if event["method"] in methods]

    def screenshot(self, path: Path) -> None:
        """The whole page, not only what fits the window."""
        picture = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def _ask(self, method: str, session: str | None = None, **parameters):
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._next:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self, patience: float = PATIENCE) -> dict:
        deadline = time.monotonic() + patience
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "Chromium does not answer"
            received = os.read(self._from, 1 << 20)
            assert received, "Chromium has gone"
            self._left += received
        text, self._left = self._left.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message


def _start(folder: Path):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
    assert browser, "Chromium is not installed: apt-get install chromium"
    their_in, to = os.pipe()
    come, their_out = os.pipe()
    flags = [browser, *FLAGS, f"--user-data-dir={folder / 'profile'}"]
    process = subprocess.Popen(
        [sys.executable, "-c", SHIM, str(their_in), str(their_out), *flags],
        pass_fds=(their_in, their_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_in)
    os.close(their_out)
    return process, to, come
