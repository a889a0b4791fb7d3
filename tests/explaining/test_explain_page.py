"""The page of `gs.explain` in a real browser: hover, slider, buttons, keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gatherscatter as gs
from tests.support import browser

pytestmark = pytest.mark.full

OUTPUT = "return [...document.querySelectorAll('.wide text.value[data-array=output]')].map((text) => text.textContent)"
NOW = "return document.querySelector('.trace [aria-current]')?.textContent ?? ''"
SAID = "return document.querySelector('.say').textContent"
PARTNERS = """
return [...document.querySelectorAll('.wide g.cell.partner')].map((cell) => `${cell.dataset.array}[${cell.dataset.at}]`)
"""


@pytest.fixture(scope="module")
def window() -> Iterator[browser.Browser]:
    if reason := browser.missing():
        pytest.skip(reason)
    with browser.chromium() as made:
        yield made


@pytest.fixture
def scatter(window: browser.Browser, tmp_path: Path) -> browser.Browser:
    explanation = gs.explain("scatter_nd", [1, 2, 3], [[2], [0], [-1]], [10, 20, 30], reduction="add")
    explanation.save(tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    return window


def _press(window: browser.Browser, label: str) -> None:
    window.run("[...document.querySelectorAll('button')].find((b) => b.textContent === arguments[0]).click()", label)


def test_buttons_walk_through_the_steps(scatter: browser.Browser) -> None:
    assert scatter.run(OUTPUT) == ["21", "2", "43"]
    _press(scatter, "Start")
    assert scatter.run(OUTPUT) == ["1", "2", "3"]
    assert scatter.run(NOW) == ""
    _press(scatter, "Next")
    assert scatter.run(OUTPUT) == ["1", "2", "13"]
    assert scatter.run(NOW) == "indices[0] = 2: updates[0] → output[2]: 3 + 10 = 13"
    assert scatter.run(SAID) == "1 of 3: indices[0] = 2: updates[0] → output[2]: 3 + 10 = 13"
    assert sorted(scatter.run(PARTNERS)) == ["data[2]", "indices[0,0]", "output[2]", "updates[0]"]
    _press(scatter, "End")
    assert scatter.run(OUTPUT) == ["21", "2", "43"]
    _press(scatter, "Back")
    assert scatter.run(OUTPUT) == ["21", "2", "13"]
    _press(scatter, "All at once")
    assert scatter.run(OUTPUT) == ["21", "2", "43"]
    assert scatter.run(PARTNERS) == []
    assert scatter.console() == []


def test_the_slider_and_keys_walk_too(scatter: browser.Browser) -> None:
    slider = "const s = document.querySelector('input'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))"
    scatter.run(slider, 2)
    assert scatter.run(OUTPUT) == ["21", "2", "13"]
    assert scatter.run("return document.querySelector('input').getAttribute('aria-valuetext')") == "step 2 of 3"
    scatter.keys(browser.LEFT)
    assert scatter.run(OUTPUT) == ["1", "2", "13"]
    scatter.keys(browser.RIGHT, browser.RIGHT, browser.RIGHT)
    assert scatter.run(OUTPUT) == ["21", "2", "43"]


def test_a_cell_that_is_pointed_at_shows_its_partners(scatter: browser.Browser) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    cell = scatter.driver.find_element(By.CSS_SELECTOR, 'g.cell[data-array="output"][data-at="2"] rect')
    ActionChains(scatter.driver).move_to_element(cell).perform()
    found = sorted(scatter.run(PARTNERS))
    assert found == ["data[2]", "indices[0,0]", "indices[2,0]", "output[2]", "updates[0]", "updates[2]"]
    shown = "return [...document.querySelectorAll('.move.shown')].map((move) => move.dataset.move)"
    assert set(scatter.run(shown)) == {"1", "3"}


def test_the_page_asks_for_nothing_and_runs_no_script_of_the_data(window: browser.Browser, tmp_path: Path) -> None:
    hostile = ["</script><script>document.title = 'taken'</script>", "<img src=x onerror=\"document.title='taken'\">"]
    gs.explain("gather", hostile, [1, 0]).save(tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    assert window.run("return document.title") == "gather, axis = 0"
    assert window.requests() == [(tmp_path / "page.html").resolve().as_uri()]
    assert window.console() == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_follows_the_reader(scatter: browser.Browser, dark: bool) -> None:
    scatter.media(dark=dark)
    paper = scatter.run("return getComputedStyle(document.querySelector('svg .paper')).fill")
    assert paper == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")
    scatter.media()


def test_a_telephone_shows_the_arrays_one_below_the_other(scatter: browser.Browser) -> None:
    shown = (
        "return [...document.querySelectorAll('.picture')].filter((p) => p.checkVisibility()).map((p) => p.className)"
    )
    assert scatter.run(shown) == ["picture wide"]
    scatter.size(390)
    assert scatter.run(shown) == ["picture stacked"]
    assert scatter.run("return document.documentElement.scrollWidth <= 390")
    _press(scatter, "Start")
    stacked = "return document.querySelector('.stacked text.value[data-array=output][data-at=\"2\"]').textContent"
    assert scatter.run(stacked) == "3"
    scatter.size(1200)


def test_a_failing_call_says_so_at_once(window: browser.Browser, tmp_path: Path) -> None:
    gs.explain("gather", [1, 2], [0, 7]).save(tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    assert "indices[1] = 7 is out of range" in window.run("return document.querySelector('[role=alert]').textContent")
    assert window.run("return document.body.innerText").count("is out of range for axis 0") == 1
    assert window.run("return document.querySelectorAll('.wide g.cell.bad').length") == 1
    assert window.console() == []


def test_a_call_whose_shapes_disagree_has_no_steps_and_no_controls(window: browser.Browser, tmp_path: Path) -> None:
    gs.explain("gather_nd", [[1], [2]], [[0], [0], [0]], batch_dims=1).save(tmp_path / "page.html")
    window.open(tmp_path / "page.html")
    assert window.run("return document.querySelectorAll('button, input, .say, .trace').length") == 0
    text = window.run("return document.body.innerText")
    assert "data.shape[:1] = (2,)  is not  indices.shape[:1] = (3,)" in text
    assert "output.shape" not in text
    assert window.console() == []
