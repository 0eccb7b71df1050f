"""The page in a headless Chromium."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, sync_playwright
from pyspark.sql import SparkSession

from rebalance_sim.report.colours import DARK, LIGHT
from tests.support.finished_runs import LONG, SCRIPT, TURNED
from tests.support.hostile_page import write_hostile_page

pytestmark = pytest.mark.browser

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
LARGEST_MARK = """drawing => {
    const marks = drawing.querySelectorAll(".mark-rect path, .mark-symbol path, .mark-rule line");
    return Math.max(...[...marks].map(mark => mark.getBoundingClientRect()).map(box => box.width + box.height));
}"""
CUT_TEXTS = """() => [...document.querySelectorAll("figure svg")].flatMap(svg => {
    const within = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].filter(text => {
        const box = text.getBoundingClientRect();
        return box.width > 0 && (box.left < within.left - 1 || box.right > within.right + 1);
    }).map(text => `${svg.getAttribute("aria-label").slice(0, 60)}: ${text.textContent}`);
})"""
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start one Chromium for all tests of the module."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return (write_hostile_page(spark, tmp_path_factory.mktemp("hostile")) / "report.html").as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """Open the page on a desktop; it must neither write to the console nor load anything."""
    page = browser.new_page(viewport=DESKTOP)
    messages: list[str] = []
    loaded: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(address)
    yield page
    assert messages == []
    assert [url for url in loaded if not url.startswith("data:")] == [address]
    page.close()


def colour_of(element: Locator, name: str) -> str:
    return str(element.evaluate(f"element => getComputedStyle(element).{name}"))


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def test_hostile_names_have_no_effect(page: Page) -> None:
    assert page.title() == f"All of it {SCRIPT}"
    assert page.locator("script").count() == 1
    assert page.locator("main img").count() == 0
    assert page.locator("bdi:visible", has_text=TURNED[:4]).count() > 0


def test_every_chart_has_marks_and_a_text_alternative(page: Page) -> None:
    figures = page.locator("figure")
    assert figures.count() >= 15
    for figure in figures.all():
        drawing = figure.get_by_role("img")
        assert drawing.count() == 1
        assert len(drawing.get_attribute("aria-label") or "") > 20
        assert drawing.evaluate(LARGEST_MARK) > 5
        rows = figure.locator("details tbody tr")
        assert rows.count() > 0
        assert not rows.first.is_visible()


def test_links_lead_to_visible_sections(page: Page) -> None:
    links = page.locator("nav a, .cards a, .ok a")
    assert links.count() > 20
    for link in links.all():
        target = (link.get_attribute("href") or "").removeprefix("#")
        assert page.locator(f"[id='{target}']").count() == 1, target
    page.emulate_media(reduced_motion="reduce")
    page.locator("nav a").last.click()
    assert page.evaluate("window.scrollY") > 1_000


def test_the_filter_works_with_the_keyboard(page: Page) -> None:
    table = page.locator(".table", has=page.get_by_role("searchbox")).filter(has_text="Groups with a tie").first
    box, rows = table.get_by_role("searchbox"), table.locator("tbody tr")
    box.focus()
    page.keyboard.type("DOCUMENT.TITLE='BROKEN'</SCRIPT>")
    assert [row.is_visible() for row in rows.all()].count(True) == 1
    assert table.locator("output").inner_text() == f"1 of {rows.count()} rows"
    # The filter also searches the full texts of cut names.
    box.fill("x" * 60)
    assert [row.is_visible() for row in rows.all()].count(True) == 1
    page.keyboard.press("Escape")
    assert all(row.is_visible() for row in rows.all())
    assert table.locator("output").inner_text() == ""


def test_everything_can_be_reached_with_the_keyboard(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        kind = page.evaluate("document.activeElement.matches('.scroll') ? 'scroll' : document.activeElement.localName")
        outlined = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if kind == "body":
            break
        assert outlined == "solid", kind
        reached.add(kind)
    assert reached == {"a", "input", "scroll", "summary"}


def test_the_data_of_a_chart_can_be_expanded_with_the_keyboard(page: Page) -> None:
    summary = page.locator("figure summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("figure details tbody tr").first.is_visible()


def test_a_long_name_can_be_read_in_full(page: Page) -> None:
    page.locator("a.whole:visible").first.click()
    assert page.locator("ol.whole li", has_text="long-").first.inner_text() == LONG


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP])
def test_nothing_is_wider_than_the_window(browser: Browser, address: str, viewport: ViewportSize) -> None:
    page = browser.new_page(viewport=viewport)
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.evaluate(CUT_TEXTS) == []
    # On a phone the narrow charts are shown, so text is not scaled down.
    drawing = page.locator("figure").first.get_by_role("img")
    scale = drawing.evaluate("drawing => drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width")
    assert 0.9 <= scale <= 1
    page.close()


@pytest.mark.parametrize(("scheme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_colours_follow_light_and_dark_mode(
    browser: Browser, address: str, scheme: str, colours: dict[str, str]
) -> None:
    page = browser.new_page(viewport=DESKTOP)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(address)
    assert colour_of(page.locator("body"), "backgroundColor") == rgb(colours["paper"])
    chart = page.locator("figure").first
    assert colour_of(chart.locator("svg.wide .role-axis-label text").first, "fill") == rgb(colours["ink"])
    assert colour_of(chart.locator("svg.wide > rect").first, "fill") == rgb(colours["paper"])
    page.close()


def test_print_uses_light_colours_and_wide_charts(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport=PHONE)
    page.goto(address)
    page.emulate_media(media="print", color_scheme="dark")
    assert colour_of(page.locator("body"), "backgroundColor") == rgb(LIGHT["paper"])
    assert page.locator("svg.wide").first.is_visible()
    assert not page.locator("nav").is_visible()
    page.close()


def test_the_page_is_complete_without_scripts(browser: Browser, address: str) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(address)
    assert page.locator("figure svg.wide").first.is_visible()
    assert not page.locator(".filter").first.is_visible()
    page.close()
