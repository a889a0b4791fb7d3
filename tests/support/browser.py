"""A real browser for tests of pages: Debian's Chromium without a window, driven by Selenium.

Tests that need it use `browser.missing()` as the reason to skip.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    # Network activity that Chromium starts by itself.
    *("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-default-apps", "--disable-extensions"),
)

# Keys as WebDriver names them. A modifier is held until the end of its text.
TAB, ENTER, ESCAPE, CONTROL = "\ue004", "\ue007", "\ue00c", "\ue009"
LEFT, UP, RIGHT, DOWN, HOME, END = "\ue012", "\ue013", "\ue014", "\ue015", "\ue011", "\ue010"


def missing() -> str | None:
    """Return the reason why there is no browser, or None."""
    if find_spec("selenium") is None:
        return "needs Selenium: pip install selenium"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"needs {program}: apt-get install chromium chromium-driver"
    return None


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser with a separate profile, which is deleted afterwards."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    with TemporaryDirectory() as profile:
        options = ChromeOptions()
        options.binary_location = str(shutil.which("chromium"))
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
        try:
            yield Browser(driver)
        finally:
            driver.quit()


class Browser:
    """The driver (``driver``: all of Selenium) and the calls that tests of pages use often."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a page from its file, without any state or logs of earlier pages."""
        self.driver.get("about:blank")
        self.console()
        self.requests()
        self.driver.get(path.resolve().as_uri() + fragment)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript and return the value of its ``return``. A promise is awaited."""
        return self.driver.execute_script(script, *arguments)

    def command(self, name: str, **parameters: Any) -> Any:
        """Run a command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, parameters)

    def size(self, width: int, height: int = 900) -> None:
        """Set the size of the page in CSS pixels, however small."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def media(self, *, dark: bool = False, printed: bool = False) -> None:
        """Emulate light or dark mode, and optionally print."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", media="print" if printed else "", features=[scheme])

    def accessibility_tree(self) -> list[dict[str, Any]]:
        """Return the nodes of the accessibility tree. The browser builds them a moment after the page."""
        from selenium.webdriver.support.ui import WebDriverWait

        def read(_: Any) -> list[dict[str, Any]]:
            nodes: list[dict[str, Any]] = self.command("Accessibility.getFullAXTree")["nodes"]
            return nodes if len(nodes) > 3 else []

        return WebDriverWait(self.driver, 20, poll_frequency=0.02).until(read)

    def wait(self, script: str, *arguments: Any) -> Any:
        """Wait until JavaScript returns something true, and return it."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 20, poll_frequency=0.02).until(lambda _: self.run(script, *arguments))

    def keys(self, *keys: str) -> None:
        """Press keys one after the other in the focused element. A modifier in front of a text is held for it."""
        from selenium.webdriver import ActionChains

        for text in keys:
            actions = ActionChains(self.driver, duration=0)
            held = text[0] if text[0] == CONTROL else ""
            if held:
                actions.key_down(held)
            actions.send_keys(text.removeprefix(held))
            if held:
                actions.key_up(held)
            actions.perform()

    def console(self) -> list[str]:
        """Return the console messages since the last call: errors, and blocked content."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that pages requested since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [message for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [message["params"]["request"]["url"] for message in sent]

    def screenshot(self, path: Path) -> None:
        """Save a picture of the window."""
        self.driver.save_screenshot(str(path))


def pages_of_pdf(data: str) -> int:
    """Return the number of pages of a PDF from `Page.printToPDF`."""
    return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(data)))
