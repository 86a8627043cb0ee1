"""The page in a real browser, clicked through, on a phone and on a desk.

Needs Chromium with its driver (Debian: `apt-get install chromium chromium-driver`) and
selenium; skipped where they are missing.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="selenium is not installed; the page stays unseen"
)

WIDTHS = {"phone": 390, "desk": 1280}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    "--headless",
    "--no-sandbox",  # root has none, as in containers
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium without a window, and with a log of what it asks for."""
    found = [path for path in map(shutil.which, BROWSERS) if path]
    driver = shutil.which("chromedriver")
    if not found or not driver:
        pytest.skip("no Chromium with chromedriver was found; the page stays unseen")
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = found[0]
    profile = tmp_path_factory.mktemp("profile")
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


@pytest.fixture(params=[*WIDTHS.values()], ids=[*WIDTHS])
def shown(request: pytest.FixtureRequest, browser: Any, page: Path) -> Any:
    """The page, opened anew at one of the widths."""
    width = request.param
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": 844,
            "deviceScaleFactor": 1,
            "mobile": width < 500,
        },
    )
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())
    return browser


def tabs(browser: Any) -> list[Any]:
    return browser.find_elements("css selector", "[role=tab]")


def visible_parts(browser: Any) -> list[str]:
    parts = browser.find_elements("css selector", "[role=tabpanel]")
    return [part.get_attribute("id") for part in parts if part.is_displayed()]


def requests(browser: Any) -> list[str]:
    """What the browser has asked for since the page was opened."""
    messages = (
        json.loads(entry["message"])["message"]
        for entry in browser.get_log("performance")
    )
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


def click_through(browser: Any) -> None:
    """Every tab, every figure enlarged and closed again, every fold opened."""
    for tab in tabs(browser):
        tab.click()
        part = tab.get_attribute("aria-controls")
        assert visible_parts(browser) == [part]
        assert tab.get_attribute("aria-selected") == "true"
        inside = f"#{part} "
        for button in browser.find_elements("css selector", inside + ".picture button"):
            assert browser.execute_script(
                "const i = arguments[0].querySelector('img');"
                "return i.complete && i.naturalWidth > 0;",
                button,
            )
            button.click()
            dialog = browser.find_element("css selector", "dialog")
            image = dialog.find_element("css selector", "img")
            assert dialog.is_displayed() and image.size["width"] > 300
            ratio = image.size["width"] / image.size["height"]
            small = button.find_element("css selector", "img").size
            assert ratio == pytest.approx(small["width"] / small["height"], rel=0.02)
            dialog.find_element("css selector", "button").click()
            assert not dialog.is_displayed()
        for fold in browser.find_elements("css selector", inside + "summary"):
            before = fold.find_element("xpath", "..").get_attribute("open")
            fold.click()
            after = fold.find_element("xpath", "..").get_attribute("open")
            assert before != after
        overflow = browser.execute_script(
            "return document.documentElement.scrollWidth - window.innerWidth"
        )
        assert overflow <= 0, f"{part} is wider than the screen"


def test_page_can_be_clicked_through_without_errors_or_requests(shown: Any, page: Path):
    click_through(shown)
    assert shown.get_log("browser") == []
    asked = [url for url in requests(shown) if not url.startswith("data:")]
    assert asked == [page.as_uri()]


def test_keyboard_alone_is_enough(shown: Any):
    from selenium.webdriver.common.keys import Keys

    first, second, *_, last = tabs(shown)
    first.send_keys(Keys.ARROW_RIGHT)
    assert shown.switch_to.active_element == second
    assert visible_parts(shown) == [second.get_attribute("aria-controls")]
    second.send_keys(Keys.END)
    assert visible_parts(shown) == [last.get_attribute("aria-controls")]
    last.send_keys(Keys.ARROW_RIGHT)
    assert visible_parts(shown) == [first.get_attribute("aria-controls")]

    button = shown.find_element("css selector", "#figure-fitness button")
    button.send_keys(Keys.ENTER)
    dialog = shown.find_element("css selector", "dialog")
    assert dialog.is_displayed()
    shown.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not dialog.is_displayed()
    assert shown.switch_to.active_element == button


def test_a_link_to_a_part_opens_it(shown: Any, page: Path):
    shown.get("about:blank")
    shown.get(page.as_uri() + "#network")
    assert visible_parts(shown) == ["network"]


def test_dark_scheme_is_dark(shown: Any):
    def brightness() -> float:
        colour = shown.execute_script(
            "return getComputedStyle(document.body).backgroundColor"
        )
        return sum(int(part) for part in colour[4:-1].split(",")) / 3

    values = {}
    for scheme in ("dark", "light"):
        shown.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        values[scheme] = brightness()
    assert values["dark"] < 60 and values["light"] > 200


def test_without_scripts_everything_is_on_one_page(shown: Any, page: Path):
    shown.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        shown.get(page.as_uri())
        for part in shown.find_elements("css selector", "section"):
            assert part.is_displayed()
    finally:
        shown.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
