"""The report as a page in a real Chromium: it renders, draws, opens, prints, and log text stays text."""

from __future__ import annotations

import base64
import importlib.util
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import serverlogs as logs
from serverlogs import encoded
from test_html import SAMPLES, hostile

from diagnoser.api import Session
from diagnoser.reports import RenderOptions, get

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER and importlib.util.find_spec("selenium")),
    reason="needs chromium, chromedriver (Debian: chromium chromium-driver) and selenium",
)

DESKTOP, PHONE = (1280, 900), (390, 844)

#: The last word of the console, and how many seconds it may take to come.
SHOWN, PATIENCE = "that was the page", 20


class Browser:
    """A headless Chromium that keeps what its console says."""

    def __init__(self, home: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        # Only pages that were made here are shown, and in a container there is no sandbox to use.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        arguments.append(f"--user-data-dir={home}")
        for argument in arguments:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))

    def show(self, path: Path, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> list[str]:
        """Load a page as a screen of that size shows it; return what the console says."""
        width, height = size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.call("Emulation.setDeviceMetricsOverride", screen)
        wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wanted.items()]
        self.call("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get(path.as_uri())
        # What the console says comes when it comes: behind a word of our own all that was said before has come.
        self.ask(f"console.log('{SHOWN}')")
        said: list[str] = []
        end = time.monotonic() + PATIENCE
        while not any(SHOWN in one for one in said) and time.monotonic() < end:
            said += [entry["message"] for entry in self.driver.get_log("browser")]
        return [one for one in said if SHOWN not in one]

    def call(self, name: str, words: dict[str, Any]) -> Any:
        return self.driver.execute_cdp_cmd(name, words)

    def ask(self, script: str) -> Any:
        return self.driver.execute_script(script)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("chromium"))
    yield made
    made.driver.quit()


def written(folder: Path, *inputs: Path) -> Path:
    """Write the report of some inputs as a page."""
    session = Session([str(one) for one in inputs], knowledge=logs.knowledge())
    path = folder / "report.html"
    path.write_text(get("html").render(session.report, RenderOptions(story=session.story())), encoding="utf-8")
    return path


#: Plots whose canvas has anything on it that is not transparent.
DRAWN = """return [...document.querySelectorAll("figure canvas")].filter((canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return data.some((value, at) => at % 4 === 3 && value > 0);
}).length"""
#: What sticks out to the right, except inside what scrolls by itself.
WIDER = "return document.documentElement.scrollWidth - window.innerWidth"


@pytest.mark.parametrize(
    ("sample", "charts"),
    [
        ("kv-cache-exhausted", 6),
        ("gpu-throttling", 10),
        ("metrics-kv-exhausted", 8),
        ("dp-imbalance", 6),
        ("bad-flag", 0),
        ("healthy-sglang", 4),
        ("sweep-past-the-knee", 0),
        ("probe-kills-start", 0),
    ],
)
def test_it_renders(browser: Browser, tmp_path: Path, sample: str, charts: int) -> None:
    path = written(tmp_path, SAMPLES / sample)
    for size in (DESKTOP, PHONE):
        assert browser.show(path, size) == [], "the console is silent"
        assert browser.ask(DRAWN) == charts
        assert browser.ask(WIDER) <= 0, f"{size}: the page scrolls sideways"


def test_evidence_opens(browser: Browser, tmp_path: Path) -> None:
    browser.show(written(tmp_path, SAMPLES / "engine-killed"), PHONE)
    proof = browser.driver.find_element("css selector", "details.proof")
    assert not proof.find_element("css selector", ".lines").is_displayed()
    proof.find_element("css selector", "summary").click()
    assert proof.find_element("css selector", ".lines .hit").is_displayed()
    assert "engine core exited unexpectedly" in proof.find_element("css selector", ".lines .hit").text
    assert browser.ask(WIDER) <= 0


def test_every_section_open_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    browser.show(written(tmp_path, hostile(tmp_path), SAMPLES / "gpu-throttling"), PHONE)
    browser.ask("for (const one of document.querySelectorAll('details')) one.open = true")
    assert browser.ask(WIDER) <= 0


def test_log_text_stays_text(browser: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, hostile(tmp_path))
    assert browser.show(path) == []
    assert browser.ask("return window.pwned === undefined && document.querySelectorAll('img').length === 0")
    assert browser.ask("return document.scripts.length") == 3
    assert "<img src=x onerror=alert(1)>" in browser.ask("return document.body.textContent")


def test_the_policy_stops_what_gets_in(browser: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, SAMPLES / "bad-flag")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</main>", "<script>window.pwned = 1</script></main>"), encoding="utf-8")
    said = browser.show(path)
    assert browser.ask("return window.pwned === undefined")
    assert any("Content Security Policy" in one for one in said)


def test_light_and_dark(browser: Browser, tmp_path: Path) -> None:
    path = written(tmp_path, SAMPLES / "engine-killed")
    seen = {}
    for scheme in ("light", "dark"):
        browser.show(path, scheme=scheme)
        for name, place in (("page", "body"), ("card", ".finding"), ("dim", ".extent"), ("flag", ".badge")):
            seen[scheme, name] = browser.ask(
                f"const s = getComputedStyle(document.querySelector('{place}')); return [s.color, s.backgroundColor]"
            )
        assert seen[scheme, "page"] != seen.get(("light" if scheme == "dark" else "", "page"))
        page = seen[scheme, "page"][1]
        assert contrast(seen[scheme, "page"][0], page) >= 7
        assert contrast(seen[scheme, "dim"][0], page) >= 4.5
        assert contrast(*seen[scheme, "card"]) >= 7
        assert contrast(*seen[scheme, "flag"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG computes it."""

    def light(color: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_drag_zooms_all_charts(browser: Browser, tmp_path: Path) -> None:
    from selenium.webdriver import ActionChains

    browser.show(written(tmp_path, SAMPLES / "kv-cache-exhausted"))
    overs = browser.driver.find_elements("css selector", ".u-over")
    before = browser.ask("return document.querySelectorAll('figure canvas')[2].toDataURL()")
    browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", overs[0])
    ActionChains(browser.driver).move_to_element_with_offset(overs[0], -60, 0).click_and_hold().move_by_offset(
        90, 0
    ).release().perform()
    assert browser.ask("return document.querySelectorAll('figure canvas')[2].toDataURL()") != before
    ActionChains(browser.driver).double_click(overs[0]).perform()
    assert "08:0" in browser.ask("return document.querySelector('.now').textContent"), "the cursor tells its time"


def test_runs_are_drawn_when_opened(browser: Browser, tmp_path: Path) -> None:
    for at in range(3):
        lines = [*logs.vllm_start(10 + at), *logs.vllm_serving(hour=10 + at)]
        (tmp_path / f"replica-{at}.log").write_bytes(encoded(lines))
    browser.show(written(tmp_path, *sorted(tmp_path.glob("*.log"))))
    assert len(browser.driver.find_elements("css selector", "details.run")) == 3
    before = browser.ask(DRAWN)
    browser.driver.find_elements("css selector", "details.run > summary")[1].click()
    browser.driver.implicitly_wait(2)
    assert browser.driver.find_elements("css selector", "details.run:nth-of-type(2) canvas")
    assert browser.ask(DRAWN) == 2 * before > 0


def test_it_prints(browser: Browser, tmp_path: Path) -> None:
    browser.show(written(tmp_path, SAMPLES / "kv-cache-exhausted"), scheme="dark")
    printed = base64.b64decode(browser.call("Page.printToPDF", {"printBackground": False})["data"])
    assert printed.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 12
    assert browser.ask("return document.querySelectorAll('main details[open]').length") == 1, "and is as before"
