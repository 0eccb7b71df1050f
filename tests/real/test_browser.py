"""The page in a headless Chromium."""

import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, ViewportSize
from pyspark.sql import SparkSession

from rebalance_sim.cli import INCOMPLETE, main
from rebalance_sim.report.colours import DARK, LIGHT
from tests.report.test_audit import many_groups
from tests.support import notebook_pages
from tests.support.audited_fleet import MEMBERS, OFFSETS, write_fleet
from tests.support.finished_runs import LONG, SCRIPT, TURNED
from tests.support.hostile_page import write_hostile_audit, write_hostile_page
from tests.support.library_programs import install_packages
from tests.support.page_pictures import DOCS, PICTURES, chromium, started_chromium, take, write_page

pytestmark = pytest.mark.browser

GROUPS = 60
"""Groups of the fleet of examples; the page has the details of all."""
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 360, "height": 740}
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
WIDER_TABLES = """() => [...document.querySelectorAll(".scroll")].filter(
    region => region.scrollWidth > region.clientWidth + 1).map(region => region.parentElement.id)"""
COVERED = """() => {
    const bar = document.querySelector("nav.contents").getBoundingClientRect();
    return [...document.querySelectorAll("h2, h3, h4")].filter(heading => {
        const box = heading.getBoundingClientRect();
        return box.height > 0 && box.top < bar.bottom && box.bottom > bar.bottom;
    }).map(heading => heading.textContent);
}"""
SEARCH = """query => {
    const box = document.getElementById("filter-search");
    const started = performance.now();
    box.value = query;
    box.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    return performance.now() - started;
}"""
SERIOUS = """async () => {
    const found = await axe.run({resultTypes: ["violations"]});
    return found.violations.filter(each => ["serious", "critical"].includes(each.impact)).map(
        each => `${each.id}: ${each.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(" | ")}`);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start one Chromium for all tests of the module."""
    if chromium() is None:
        pytest.skip("no Chromium on the PATH")
    with started_chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page about runs that are no audits."""
    return (write_hostile_page(spark, tmp_path_factory.mktemp("hostile")) / "report.html").as_uri()


@pytest.fixture(scope="module")
def hostile_audit(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return (write_hostile_audit(spark, tmp_path_factory.mktemp("hostile-audit")) / "report.html").as_uri()


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page of the fleet with a group for each kind of finding."""
    folder = tmp_path_factory.mktemp("fleet")
    assert main(["audit", *write_fleet(folder), "--out", f"{folder}/audit"]) == INCOMPLETE
    return (folder / "audit" / "report.html").as_uri()


@pytest.fixture(scope="module")
def one_group(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("one")
    assert main(["audit", "--synthetic", "small", "--groups", "1", "--out", f"{folder}/audit"]) == 0
    return (folder / "audit" / "report.html").as_uri()


@pytest.fixture(scope="module")
def many(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page that lists 5,000 groups."""
    folder = tmp_path_factory.mktemp("many")
    run = many_groups(spark, folder / "TEAM_NAME", 6_000)
    assert main(["report", "--runs", run, "--out", f"{folder}/page"]) == 0
    return (folder / "page" / "report.html").as_uri()


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the script of axe-core."""
    folder = tmp_path_factory.mktemp("axe")
    install_packages(Path(__file__).parent / "accessibility", folder)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def notebook(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page with the cells of docs/notebooks.md."""
    page = tmp_path_factory.mktemp("notebook") / "notebook.html"
    page.write_text(notebook_pages.page("Notebook"))
    return page.as_uri()


@contextmanager
def watched(browser: Browser, address: str, allowed: str | tuple[str, ...] = "data:") -> Iterator[Page]:
    """Open a page that must neither write to the console nor load anything but what is allowed."""
    page, messages, loaded = browser.new_page(viewport=DESKTOP), list[str](), list[str]()
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(address)
    yield page
    assert messages == []
    assert [url for url in loaded if not url.startswith(allowed)] == [address]
    page.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with watched(browser, address) as page:
        yield page


@pytest.fixture
def audit_page(browser: Browser, fleet: str) -> Iterator[Page]:
    with watched(browser, fleet) as page:
        yield page


@pytest.fixture
def hostile_audit_page(browser: Browser, hostile_audit: str) -> Iterator[Page]:
    with watched(browser, hostile_audit) as page:
        yield page


Opened = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Return what opens a page, by default as wide as on a desktop, until the end of the test."""
    with ExitStack() as pages:

        def opened(address: str, viewport: ViewportSize = DESKTOP, **more: Any) -> Page:
            page = browser.new_page(viewport=viewport, **more)
            pages.callback(page.close)
            page.goto(address)
            return page

        yield opened


def box_of(element: Locator) -> FloatRect:
    """Return where an element is, which must be there."""
    box = element.bounding_box()
    assert box is not None
    return box


def found_groups(page: Page) -> int:
    """Return how many groups the page says it has found."""
    return int(page.locator("#found-groups").inner_text().split()[0])


def colour_of(element: Locator, name: str) -> str:
    return str(element.evaluate(f"element => getComputedStyle(element).{name}"))


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def rows_of(page: Page) -> Locator:
    return page.locator("#group-rows tr")


def search(page: Page, text: str) -> None:
    page.get_by_role("searchbox", name="Search").fill(text)


def test_hostile_names_have_no_effect(page: Page) -> None:
    assert page.title() == f"All of it {SCRIPT}"
    assert page.locator("script").count() == 1
    assert page.locator("main img").count() == 0
    assert page.locator("bdi:visible", has_text=TURNED[:4]).count() > 0


def test_hostile_groups_can_be_found_sorted_and_opened(hostile_audit_page: Page) -> None:
    page = hostile_audit_page
    title = page.title()
    search(page, SCRIPT.upper())
    assert rows_of(page).count() == 1
    rows_of(page).locator("a").click()
    assert page.locator(".group:visible h3").inner_text() == SCRIPT
    assert page.locator(".group:visible .members tbody tr").count() == 3
    search(page, "")
    for button in page.locator("#group-table thead button").all():
        button.click()
        assert rows_of(page).count() == 10
    page.locator("#filter-kind").select_option("election-tie")
    assert rows_of(page).count() == 10
    assert page.title() == title
    assert page.locator("main img").count() == 0


def test_the_groups_to_look_at_first_are_there_without_a_click(audit_page: Page) -> None:
    verdict = audit_page.locator(".verdict")
    assert "need attention: " in verdict.inner_text()
    first = audit_page.locator(".action").first
    assert first.locator(".badge").inner_text() == "Error"
    box = box_of(first.locator(".affected a").first)
    assert box["y"] + box["height"] < DESKTOP["height"]


def test_the_next_rolling_restart_of_a_group_takes_a_search_and_a_click(audit_page: Page) -> None:
    search(audit_page, "rollout-downtime")
    # The simulated figures are in the table; what would help, in the details.
    assert "s" in rows_of(audit_page).first.locator("td.simulated").last.inner_text()
    rows_of(audit_page).get_by_role("link", name="rollout-downtime", exact=True).click()
    summary = audit_page.locator(".group:visible .summary").inner_text()
    assert "As it is: " in summary
    assert "would help most" in summary
    assert audit_page.locator(".group:visible table.lanes tr.alternative").count() > 1


def test_whether_a_group_can_migrate_takes_a_search(audit_page: Page) -> None:
    search(audit_page, "migration-library")
    link = audit_page.get_by_role("link", name="migration-library", exact=True)
    row = rows_of(audit_page).filter(has=link)
    assert row.locator("td").last.inner_text() == "no"
    row.locator("a").click()
    assert "sarama" in audit_page.locator(".group:visible .facts").inner_text()


def test_who_consumes_a_topic_takes_a_search_or_a_click(audit_page: Page) -> None:
    search(audit_page, "eight")
    anywhere = found_groups(audit_page)
    audit_page.get_by_role("button", name="Show only the groups that consume topic eight").click()
    consumers = {row["group_id"] for row in MEMBERS if "eight" in row["subscription"]}
    consumers |= {row["group_id"] for row in OFFSETS if row["topic"] == "eight"}
    assert found_groups(audit_page) == len(consumers) <= anywhere
    shown = {name.split()[0] for name in rows_of(audit_page).locator("td:first-child").all_inner_texts()}
    assert shown == consumers
    marked = rows_of(audit_page).filter(has_text="committed offsets only").locator("a").all_inner_texts()
    assert set(marked) == {"no-members", "offsets-expire", "lag-without-assignment", "lag-without-subscriber"}
    audit_page.get_by_role("button", name="Reset").click()
    search(audit_page, "large-lag")
    rows_of(audit_page).locator("a").click()
    audit_page.locator(".group:visible .topic-link", has_text="eight").click()
    assert found_groups(audit_page) == len(consumers)
    assert "committed offsets only" not in rows_of(audit_page).filter(has_text="large-lag").inner_text()


@pytest.mark.parametrize(
    ("scope", "text", "groups"),
    [("library", "LIBRDKAFKA", {"healthy-librdkafka"}), ("address", "10.0.0.2", {"topic-on-one-host"})],
)
def test_groups_are_found_by_their_clients(audit_page: Page, scope: str, text: str, groups: set[str]) -> None:
    audit_page.locator("#filter-scope").select_option(scope)
    search(audit_page, text)
    assert groups <= set(rows_of(audit_page).locator("a").all_inner_texts())
    found = found_groups(audit_page)
    assert found < GROUPS / 2
    audit_page.locator("#filter-scope").select_option("")
    assert found_groups(audit_page) >= found


def test_the_bar_hides_no_heading_that_a_link_leads_to(audit_page: Page) -> None:
    bar = audit_page.locator("nav.contents")
    links = [*audit_page.locator("nav.contents a").all(), *audit_page.locator(".affected a").all()[:3]]
    for link in links:
        link.click()
        target = audit_page.locator(f"[id='{audit_page.evaluate('location.hash.slice(1)')}']")
        heading, below = box_of(target.locator("h2, h3").first), box_of(bar)
        assert heading["y"] >= below["y"] + below["height"]
    covered = audit_page.evaluate(COVERED)
    assert covered == []


def test_what_settings_cost_is_whole_on_a_phone(opened: Opened, fleet: str) -> None:
    page = opened(fleet, PHONE)
    page.locator(".affected a", has_text="rollout-downtime").first.click()
    costs = page.locator(".group:visible [id$=-restart]")
    assert costs.locator("td:visible").count() > 10
    group = page.locator(".group:visible").get_attribute("id")
    assert [name for name in page.evaluate(WIDER_TABLES) if name.startswith(f"{group}-")] == []


def test_details_open_and_close_with_the_keyboard(audit_page: Page) -> None:
    audit_page.locator(".affected a").first.focus()
    audit_page.keyboard.press("Enter")
    shown = audit_page.locator("section.group:visible")
    assert shown.count() == 1
    assert audit_page.evaluate("document.activeElement.localName") == "h3"
    audit_page.keyboard.press("Tab")
    audit_page.keyboard.press("Enter")
    assert shown.count() == 0


def test_the_table_is_sorted_with_the_keyboard(audit_page: Page) -> None:
    head = audit_page.locator("#group-table thead tr:last-child th", has_text="members")
    head.get_by_role("button").focus()
    members = "rows => rows.map(row => Number(row.cells[2].textContent))"
    for direction in ("descending", "ascending"):
        audit_page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == direction
        found = rows_of(audit_page).evaluate_all(members)
        assert found == sorted(found, reverse=direction == "descending")


def test_a_finding_leads_to_its_groups_in_the_table(audit_page: Page) -> None:
    audit_page.locator("summary", has_text="Notes:").click()
    audit_page.locator("a[data-kind=migration-possible]").click()
    assert audit_page.locator("#filter-kind").input_value() == "migration-possible"
    number = found_groups(audit_page)
    assert 0 < number < GROUPS
    audit_page.get_by_role("button", name="Reset").click()
    assert audit_page.locator("#found-groups").inner_text().split()[1] == "groups"


def test_thousands_of_groups_are_searched_at_once(opened: Opened, many: str) -> None:
    page = opened(many)
    assert page.locator("#found-groups").inner_text() == "5,000 groups"
    took = [page.evaluate(SEARCH, query) for query in ("x", "x-59", "x-599", "no-members", "nothing")]
    print(f"searching 5,000 groups: at most {max(took):.0f} ms")
    assert rows_of(page).count() == 0
    page.evaluate(SEARCH, "")
    # Only a page of rows is in the document.
    assert rows_of(page).count() == 25
    page.get_by_role("button", name="Next").click()
    assert page.locator("#shown-rows").inner_text() == "26–50 of 5,000"
    assert page.get_by_role("button", name="Previous").is_enabled()
    search(page, "-5500")
    rows_of(page).locator("a").click()
    # The details of this group are not on the page.
    command = page.locator("#other-command").inner_text()
    assert "/TEAM_NAME --groups xxx" in command
    assert command.endswith("-5500 --out page")


def test_the_pictures_of_the_documentation_can_be_taken(browser: Browser, spark: SparkSession, tmp_path: Path) -> None:
    """They are those of the example capture: of the same size, and with as much to see."""
    take(browser, write_page(tmp_path / "audit"), tmp_path)
    for name in PICTURES:
        taken, shown = (folder / name for folder in (tmp_path, DOCS))
        sizes = [struct.unpack(">II", file.read_bytes()[16:24]) for file in (taken, shown)]
        assert sizes[0] == sizes[1], name
        assert 0.5 < taken.stat().st_size / shown.stat().st_size < 2, name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["address", "fleet", "hostile_audit"])
def test_axe_finds_nothing_serious(
    opened: Opened, axe: str, which: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    page = opened(request.getfixturevalue(which), bypass_csp=True, color_scheme=scheme)
    if page.locator(".affected a").count():
        page.locator(".affected a").first.click()
    for summary in page.locator("summary:visible").all()[:5]:
        summary.click()
    page.evaluate(axe)
    assert page.evaluate(SERIOUS) == []


def test_every_chart_has_marks_and_a_text_alternative(page: Page) -> None:
    figures = page.locator("figure")
    assert figures.count() >= 12
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
    assert links.count() > 15
    for link in links.all():
        target = (link.get_attribute("href") or "").removeprefix("#")
        assert page.locator(f"[id='{target}']").count() == 1, target
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
    box.fill("x" * 80)
    assert [row.is_visible() for row in rows.all()].count(True) == 1
    page.keyboard.press("Escape")
    assert all(row.is_visible() for row in rows.all())
    assert table.locator("output").inner_text() == ""


@pytest.mark.parametrize(
    ("which", "expected"),
    [("address", {"a", "input", "scroll", "summary"}),
     ("fleet", {"a", "button", "input", "scroll", "select", "summary"})],
)  # fmt: skip
def test_everything_can_be_reached_with_the_keyboard(
    opened: Opened, which: str, expected: set[str], request: pytest.FixtureRequest
) -> None:
    page = opened(request.getfixturevalue(which))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert box_of(page.locator(".skip"))["x"] >= 0
    reached = set()
    for _ in range(500):
        page.keyboard.press("Tab")
        kind = page.evaluate("document.activeElement.matches('.scroll') ? 'scroll' : document.activeElement.localName")
        outlined = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if kind == "body":
            break
        assert outlined == "solid", kind
        reached.add(kind)
    assert reached == expected


def test_the_data_of_a_chart_can_be_expanded_with_the_keyboard(page: Page) -> None:
    summary = page.locator("figure summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("figure details tbody tr").first.is_visible()


def test_a_long_name_can_be_read_in_full(page: Page) -> None:
    page.locator("a.whole:visible").first.click()
    assert page.locator("ol.whole li", has_text="long-").first.inner_text() == LONG


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP])
@pytest.mark.parametrize("which", ["address", "fleet", "hostile_audit", "one_group", "many"])
def test_nothing_is_wider_than_the_window(
    opened: Opened, which: str, viewport: ViewportSize, request: pytest.FixtureRequest
) -> None:
    page = opened(request.getfixturevalue(which), viewport)
    links: list[Any] = page.locator(".affected a").all()
    for link in [None, *links[:5], *links[-3:]]:
        if link is not None:
            link.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        if which in ("fleet", "one_group") and viewport is DESKTOP:
            assert page.evaluate(WIDER_TABLES) == []
    assert page.evaluate(CUT_TEXTS) == []
    if which == "address":
        # On a phone the narrow charts are shown, so text is not scaled down.
        drawing = page.locator("figure").first.get_by_role("img")
        scale = drawing.evaluate("drawing => drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width")
        assert 0.9 <= scale <= 1


def test_past_rebalances_are_whole_on_a_phone(opened: Opened, hostile_audit: str) -> None:
    """The calendar, and the strip of a group: each lane is drawn within the window, and has its words."""
    page = opened(hostile_audit, {"width": 390, "height": 844})
    page.locator(".score a").click()
    page.locator(".affected a").first.click()
    for table in ("#history .lanes", ".group:target [id$=-history-caption] + .lanes"):
        lanes = page.locator(f"{table} tbody tr")
        assert lanes.count() >= 4
        for lane in lanes.all():
            box = box_of(lane.locator("svg"))
            assert box["x"] >= 0
            assert 300 < box["x"] + box["width"] <= 390
            assert lane.locator("svg path").count() == 1
            assert lane.locator("td").last.inner_text()[0].isdigit()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_phone_shows_under_which_setting_a_rollout_is_drawn(opened: Opened, fleet: str) -> None:
    page = opened(fleet, PHONE)
    page.locator(".affected a", has_text="rollout-downtime").first.click()
    titles = page.locator(".group:target .rollout .alternative b")
    assert titles.first.inner_text() == "As it is"
    assert titles.count() > 1
    assert all(title.is_visible() for title in titles.all())


def test_a_timeline_is_readable_on_a_phone(opened: Opened, fleet: str) -> None:
    """Each member's name stands above its lane, which is as wide as the page, and the times do not overlap."""
    page = opened(fleet, PHONE)
    page.locator(".affected a", has_text="rollout-downtime").first.click()
    drawn = page.locator(".group:target .lanes")
    lanes = drawn.locator("tbody tr:not(.alternative)").all()
    assert len(lanes) > 5
    for lane in lanes:
        parts = (lane.locator("th"), lane.locator("svg"), lane.locator("td").last)
        name, picture, text = map(box_of, parts)
        assert name["y"] + name["height"] <= picture["y"] < picture["y"] + picture["height"] <= text["y"] + 1
        assert picture["width"] > 0.85 * PHONE["width"]
    boxes = [label.bounding_box() for label in drawn.locator(".axis text").all()]
    assert len(boxes) > 3
    places = sorted((box["x"], box["x"] + box["width"]) for box in boxes if box is not None)
    assert all(right < left for (_, right), (left, _) in pairwise(places))


def test_the_first_column_of_a_wide_table_stays_in_sight(opened: Opened, address: str) -> None:
    page = opened(address, PHONE)
    for name in page.evaluate(WIDER_TABLES):
        region = page.locator(f"[id='{name}'] .scroll")
        region.evaluate("region => region.scrollLeft = region.scrollWidth")
        within, first = box_of(region), box_of(region.locator("tbody tr").first.locator("td, th").first)
        assert abs(first["x"] - within["x"]) <= 1
        assert first["width"] < within["width"] / 2
    assert page.evaluate(WIDER_TABLES)


@pytest.mark.parametrize(("scheme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_colours_follow_light_and_dark_mode(opened: Opened, address: str, scheme: str, colours: dict[str, str]) -> None:
    page = opened(address, color_scheme=scheme)
    assert colour_of(page.locator("body"), "backgroundColor") == rgb(colours["paper"])
    chart = page.locator("figure").first
    assert colour_of(chart.locator("svg.wide .role-axis-label text").first, "fill") == rgb(colours["ink"])
    assert colour_of(chart.locator("svg.wide > rect").first, "fill") == rgb(colours["paper"])


def test_print_uses_light_colours_and_wide_charts(opened: Opened, address: str) -> None:
    page = opened(address, PHONE)
    page.emulate_media(media="print", color_scheme="dark")
    assert colour_of(page.locator("body"), "backgroundColor") == rgb(LIGHT["paper"])
    assert page.locator("svg.wide").first.is_visible()
    assert not page.locator("nav").is_visible()


def test_print_has_what_to_do_and_the_details_of_the_worst_groups(opened: Opened, fleet: str) -> None:
    page = opened(fleet)
    page.emulate_media(media="print")
    assert page.locator(".action").first.is_visible()
    assert not page.locator(".controls").is_visible()
    printed = page.locator("section.group:visible")
    assert 20 < printed.count() < GROUPS
    assert printed.locator(".badge.warning, .badge.error").count() >= printed.count()


def test_the_page_is_complete_without_scripts(opened: Opened, address: str, fleet: str) -> None:
    page = opened(address, java_script_enabled=False)
    assert page.locator("figure svg.wide").first.is_visible()
    assert not page.locator(".filter").first.is_visible()
    page.goto(fleet)
    assert page.locator(".action").first.is_visible()
    assert rows_of(page).count() == 25
    assert not page.locator(".controls").is_visible()
    assert page.locator("section.group:visible").count() == GROUPS


def test_frames_in_a_notebook_keep_their_styles_links_and_height(browser: Browser, notebook: str) -> None:
    with watched(browser, notebook, ("data:", "about:srcdoc")) as page:
        frames = page.locator("iframe")
        assert frames.count() == len(notebook_pages.cells()) - 1
        whole = page.frame_locator("iframe").nth(0)
        whole.locator(".affected a").first.click()
        assert whole.locator(".group:visible h3").count() == 1
        assert page.url == notebook
        assert colour_of(whole.locator("h2").first, "color") == rgb(LIGHT["ink"])
        assert colour_of(whole.locator("table").first, "borderTopStyle") == "none"
        for place in range(frames.count()):
            if frames.nth(place).get_attribute("data-fits"):
                body = page.frame_locator("iframe").nth(place).locator("body")
                assert body.evaluate("body => body.offsetHeight - innerHeight") <= 2
