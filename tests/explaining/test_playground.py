"""The playground: its calls are those of `gs.explain`, and its server answers only its own page."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import gatherscatter as gs
from gatherscatter.explaining.page import main
from gatherscatter.explaining.playground import calls, server
from gatherscatter.explaining.playground.server import PlaygroundServer
from gatherscatter.explaining.playground.texts import TYPES, Preset, presets, read_array
from tests.support import browser

ROWS = gs.ops()
PRESETS = [(row, preset) for row in ROWS for preset in presets(row)]


def request_of(row: gs.OpVersion, preset: Preset) -> bytes:
    return json.dumps({"op": row.name, "inputs": preset.inputs, "attributes": preset.attributes}).encode()


def call(op: str, attributes: dict[str, str] | None = None, **inputs: str) -> bytes:
    return json.dumps({"op": op, "inputs": inputs, "attributes": attributes or {}}).encode()


# ------------------------------------------------------------------------------------------------ calls


@pytest.mark.parametrize(("row", "preset"), PRESETS, ids=lambda one: getattr(one, "name", None) or one.title)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_preset_gets_the_explanation_of_the_library(row: gs.OpVersion, preset: Preset) -> None:
    answer = calls.answer(request_of(row, preset))
    arrays = {name: read_array(text) for name, text in preset.inputs.items()}
    given = [arrays.get(one.name) for one in row.inputs]
    while given[-1] is None:
        given.pop()
    attributes = {name: {"true": True, "false": False}.get(text, text) for name, text in preset.attributes.items()}
    attributes = {name: int(text) if str(text).lstrip("-").isdigit() else text for name, text in attributes.items()}
    explanation = gs.explain(row, *given, **attributes)
    assert answer["html"] == main(explanation)
    assert len(answer["steps"]["list"]) == len(explanation.trace)
    names: dict[str, Any] = {}
    if explanation.error is None:
        exec(answer["python"], names)
        np.testing.assert_array_equal(names["result"], explanation.result)
        assert names["result"].dtype == explanation.result.dtype
    else:
        with pytest.raises(type(explanation.error)) as caught:
            exec(answer["python"], names)
        assert str(caught.value) == str(explanation.error)


def test_every_operator_has_presets() -> None:
    assert all(len(presets(row)) >= 1 for row in ROWS)


@pytest.mark.parametrize("name", TYPES)
def test_an_array_of_each_type_is_read(name: str) -> None:
    texts = {"bool": "true, false", "string": '"a", "b"', "complex64": '"1+2j", 3', "complex128": '"1+2j", 3'}
    array = read_array(f"{name}:[[{texts.get(name, '1, 1')}]]")
    assert array.shape == (1, 2)
    assert calls.element_type(array.dtype) == name
    names: dict[str, Any] = {}
    exec(f"import ml_dtypes, numpy as np\nresult = {calls._array_code(array)}", names)
    assert names["result"].dtype == array.dtype
    assert names["result"].tolist() == array.tolist()


def test_complex_numbers_with_infinite_parts_have_code() -> None:
    names: dict[str, Any] = {}
    code = calls._array_code(read_array('complex64:["1+infj", "nan"]'))
    exec(f"import numpy as np\nresult = {code}", names)
    assert str(names["result"].tolist()) == "[(1+infj), (nan+0j)]"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("int8:[300]", "300 is not a value of type int8"),
        ("int64:[1.5]", "the values are not of type int64"),
        ("uint8:[-1]", "-1 is not a value of type uint8"),
        ("int64:[9223372036854775808]", "9223372036854775808 is not a value of type int64"),
        ("bool:[2]", "the values are not of type bool"),
        ('float32:["1"]', "the values are not of type float32"),
        ("string:[1]", "the values of a string array are texts in quotes"),
        ('string:["a", 1]', "the values of a string array are texts in quotes"),
        ('complex64:["x"]', "['x'] are not complex numbers"),
        ("int64:[[1, 2], [3]]", "the lists in it have different lengths"),
        ("int64:[1", "this is not a value of JSON"),
        ("int64:os.getcwd()", "this is not a value of JSON"),
        ('int64:{"a": 1}', "the values are not of type int64"),
        ("int64:null", "the values are not of type int64"),
        ("object:[1]", "object is not an element type"),
        ("datetime64:[1]", "datetime64 is not an element type"),
        ("[1]", "this is not of the form type:values"),
        ("int64(2):[]", "a shape before the values is for arrays without elements"),
        ("int64(0):[1]", "a shape before the values is for arrays without elements"),
        (f"int64:{'[' * 60000}", "this has too many brackets"),
        (f"int64:{'9' * 60000}", "this is not a value of JSON"),
    ],
)
def test_a_text_that_is_no_array_is_a_mistake_of_its_input(text: str, mistake: str) -> None:
    answer = calls.answer(call("onnx.Gather-13", data=text, indices="int64:[0]"))
    assert answer["input"] == "data"
    assert answer["mistake"].startswith(f"data: {mistake}")


@pytest.mark.parametrize(
    "request_text",
    [
        b"",
        b"[]",
        b'"onnx.Gather-13"',
        b"{}",
        b'{"op": "onnx.Gather-13"}',
        b'{"op": ["onnx.Gather-13"], "inputs": {}, "attributes": {}}',
        b'{"op": "onnx.Gather", "inputs": {}, "attributes": {}}',
        b'{"op": "__class__", "inputs": {}, "attributes": {}}',
        b'{"op": "onnx.Gather-13", "inputs": [], "attributes": {}}',
        call("onnx.Gather-13", out="int64:[0]"),
        call("onnx.Gather-13", {"mode": "clip"}),
        call("onnx.Gather-13", {"axis": "os"}, data="int64:[0]", indices="int64:[0]"),
        b'{"op": "onnx.Gather-13", "inputs": {"data": [1, 2]}, "attributes": {}}',
        b"\xff\xfe" * 100,
        b"[" * 60000,
    ],
)
def test_a_request_that_is_no_call_is_a_mistake(request_text: bytes) -> None:
    assert calls.answer(request_text)["mistake"]


HUGE = [
    call("onnx.Gather-13", data=f"int8:{[0] * 5000}", indices=f"int64:{[[0] * 5000] * 3}"),
    call("onnx.Gather-13", {"axis": "1"}, data=f"int8:{[[0] * 2] * 5000}", indices="int64:[0, 0, 0]"),
    call("onnx.GatherND-13", data=f"int8:{[[0] * 5000]}", indices="int64:[[0], [0], [0]]"),
    call("openvino.Gather-8", data=f"int8:{[[0] * 5000]}", indices="int64:[0, 0, 0]", axis="int64:0"),
    call("openvino.EmbeddingSegmentsSum-3", emb_table="float32:[[1]]", indices="int64:[0]", segment_ids="int64:[0]",
         num_segments="int64:4611686018427387904"),
    call("openvino.SegmentMax-16", {"fill_mode": "ZERO"}, data="int8:[1]", segment_ids="int64:[4611686018427387904]"),
    call("openvino.EmbeddingBagOffsetsSum-3", emb_table=f"float32:{[[0] * 200]}", indices="int64:[0]",
         offsets=f"int64:{[0] * 100}"),
    call("openvino.EmbeddingBagPackedSum-3", emb_table=f"float32:{[[0] * 200]}", indices=f"int64:{[[0]] * 100}"),
    call("com.microsoft.GatherBlockQuantized-1", data=f"uint8:{[[0] * 2000]}", indices="int64:[0, 0, 0]",
         scales=f"float32:{[[1] * 32]}"),
]  # fmt: skip


@pytest.mark.parametrize("request_text", HUGE, ids=range(len(HUGE)))
def test_a_result_that_would_be_too_large_is_not_computed(request_text: bytes) -> None:
    answer = calls.answer(request_text)
    assert "this page takes 10000 at most" in answer.get("mistake", "")


def test_values_stay_text() -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    answer = calls.answer(call("onnx.Gather-13", data=f"string:{json.dumps([hostile])}", indices="int64:[0]"))
    assert "<img" not in answer["html"]
    assert "<script" not in answer["html"]


# ------------------------------------------------------------------------------------------------ the server


@pytest.fixture(scope="module")
def served() -> Iterator[PlaygroundServer]:
    with PlaygroundServer() as opened:
        Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield opened
        opened.shutdown()


GOOD = call("onnx.Gather-13", data="int64:[10, 20, 30]", indices="int64:[2, 0]")


def ask(
    served: PlaygroundServer,
    method: str = "POST",
    path: str = "/call",
    body: bytes | None = GOOD,
    **headers: str | None,
) -> tuple[int, bytes, http.client.HTTPMessage]:
    """Send a good request, with some headers changed. None leaves a header out."""
    good = {"Host": served.host, "Origin": f"http://{served.host}", "X-Token": served.token}
    whole = good | {"Content-Type": "application/json", "Content-Length": str(len(body or b""))}
    whole |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(*served.server_address, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in whole.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    return response.status, answer, response.headers


def test_a_good_call_is_answered(served: PlaygroundServer) -> None:
    status, body, headers = ask(served)
    assert status == 200
    assert json.loads(body) == calls.answer(GOOD)
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cache-Control"] == "no-store"


def test_the_page_holds_no_secret_and_connects_to_its_server_only(served: PlaygroundServer) -> None:
    status, body, headers = ask(served, "GET", "/", None)
    page = body.decode()
    assert status == 200
    assert served.token not in page
    assert served.token in served.address
    assert len(served.token) * 4 >= 128
    assert "connect-src 'self'" in page
    assert "default-src 'none'" in page
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert served.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": None}, 403),
        ({"Origin": "http://localhost:{port}"}, 403),
        ({"Origin": "http://127.0.0.1:{port}.example.org"}, 403),
        ({"Host": "example.org:{port}"}, 403),
        ({"Host": "localhost:{port}"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": None}, 403),
        ({"X_Token": None}, 403),
        ({"X_Token": "0" * 32}, 403),
        ({"X_Token": ""}, 403),
        ({"X_Token": "é"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": None}, 415),
        ({"Content_Length": None}, 411),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": "²"}, 411),
    ],
)
def test_a_request_of_another_page_is_refused(
    served: PlaygroundServer, headers: dict[str, str | None], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.calls, "ask", lambda body: pytest.fail("the call was made"))
    port = str(served.server_address[1])
    changed = {name: value and value.replace("{port}", port) for name, value in headers.items()}
    found, body, answered = ask(served, **changed)
    assert found == status
    assert served.token.encode() not in body
    assert answered["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/call", 404),
        ("GET", "/../server.py", 404),
        ("GET", "//example.org/", 404),
        ("POST", "/", 404),
        ("POST", "/call?x=1", 404),
        ("OPTIONS", "/call", 501),
        ("PUT", "/call", 501),
        ("HEAD", "/", 501),
    ],
)
def test_other_paths_and_methods_are_refused(served: PlaygroundServer, method: str, path: str, status: int) -> None:
    found, _, headers = ask(served, method, path)
    assert found == status
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_a_request_that_is_too_long_is_not_read(served: PlaygroundServer) -> None:
    assert ask(served, Content_Length=str(server.MOST_BYTES + 1))[0] == 413
    longest = GOOD + b" " * (server.MOST_BYTES - len(GOOD))
    assert ask(served, body=longest)[0] == 200


def test_line_breaks_in_a_request_do_not_mix_up_answers(served: PlaygroundServer) -> None:
    spread = GOOD.replace(b", ", b",\n")
    assert json.loads(ask(served, body=spread)[1]) == calls.answer(GOOD)
    assert "mistake" in json.loads(ask(served, body=b"\n\n")[1])
    assert json.loads(ask(served)[1]) == calls.answer(GOOD)


def test_a_call_that_takes_too_long_is_ended_and_the_next_one_works(
    served: PlaygroundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(served)
    monkeypatch.setattr(served.calls, "_time_limit", 0.1)
    os.kill(served.calls._process.pid, signal.SIGSTOP)
    assert "took longer" in json.loads(ask(served)[1])["mistake"]
    monkeypatch.undo()
    assert json.loads(ask(served)[1]) == calls.answer(GOOD)


def test_a_process_that_died_is_replaced(served: PlaygroundServer) -> None:
    ask(served)
    served.calls._process.kill()
    served.calls._process.wait()
    assert json.loads(ask(served)[1]) == calls.answer(GOOD)


def test_the_command_prints_the_address_and_ends_with_ctrl_c() -> None:
    command = [sys.executable, "-m", "gatherscatter", "playground", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address, hint = process.stdout.readline(), process.stdout.readline()
    assert address.startswith("http://127.0.0.1:")
    assert "Ctrl-C" in hint
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


# ------------------------------------------------------------------------------------------------ in a browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Browser]:
    if reason := browser.missing():
        pytest.skip(reason)
    with browser.chromium() as opened:
        yield opened


@pytest.fixture
def window(chromium: browser.Browser, served: PlaygroundServer) -> Iterator[browser.Browser]:
    """Open the page in a wide window. It must not log errors, and sends requests to its own server only."""
    chromium.size(1440)
    chromium.driver.get("about:blank")
    chromium.console()
    chromium.requests()
    chromium.driver.get(served.address)
    chromium.wait(HEADING, "onnx.GatherND-13")
    yield chromium
    assert chromium.console() == []
    assert all(url.startswith((f"http://{served.host}/", "data:")) for url in chromium.requests())


HEADING = "return document.querySelector('#explanation h1')?.textContent.startsWith(arguments[0])"
SET = """
const field = document.getElementById(arguments[0]);
field.value = arguments[1];
field.dispatchEvent(new Event("input", { bubbles: true }));
field.dispatchEvent(new Event("change", { bubbles: true }));
"""
TEXT = "return document.getElementById(arguments[0]).textContent"
OUTPUT = "return [...document.querySelectorAll('.wide text.value[data-array=output]')].map((text) => text.textContent)"


@pytest.mark.full
def test_each_operator_shows_its_first_example(window: browser.Browser) -> None:
    for name in {f"{row.domain}.{row.op_type}": row.name for row in ROWS}.values():
        window.run(SET, "operator", name.rpartition("-")[0])
        window.wait(HEADING, name)
        assert window.run("return document.querySelectorAll('#explanation svg').length") == 2
        assert f'gs.op("{name}")' in window.run(TEXT, "python")


@pytest.mark.full
def test_a_changed_value_changes_the_explanation(window: browser.Browser) -> None:
    window.run(SET, "operator", "onnx.Gather")
    window.wait(HEADING, "onnx.Gather-13")
    window.run(SET, "values-data", "[10, 20, 30]")
    window.run(SET, "values-indices", "[2, 2]")
    window.wait(f'return JSON.stringify((() => {{ {OUTPUT} }})()) === \'["30","30"]\'')
    window.run(SET, "values-indices", "[2, 3]")
    window.wait("return document.querySelector('#explanation .error')")
    assert "indices[1] = 3 is out of range" in window.run("return document.querySelector('#explanation').textContent")
    window.run(SET, "values-indices", "[2, ")
    window.wait("return document.getElementById('mistake').textContent.startsWith('indices: this is not')")
    assert window.run("return document.getElementById('values-indices').getAttribute('aria-invalid')") == "true"
    window.run(SET, "values-indices", "[0]")
    window.wait(f"return JSON.stringify((() => {{ {OUTPUT} }})()) === '[\"10\"]'")
    assert window.run(TEXT, "mistake") == ""


@pytest.mark.full
def test_the_steps_can_be_walked(window: browser.Browser) -> None:
    window.run(SET, "operator", "onnx.ScatterND")
    window.wait(HEADING, "onnx.ScatterND-18")
    before = window.run(OUTPUT)
    window.run("[...document.querySelectorAll('.walk button')].find((one) => one.textContent === 'Start').click()")
    assert window.run(OUTPUT) != before
    window.run("document.querySelector('.walk input').focus()")
    window.keys(browser.END)
    assert window.run(OUTPUT) == before


@pytest.mark.full
def test_a_hostile_value_stays_text(window: browser.Browser) -> None:
    hostile = "<img src=x onerror=\"document.title='taken'\">"
    window.run(SET, "operator", "onnx.Gather")
    window.wait(HEADING, "onnx.Gather-13")
    window.run(SET, "type-data", "string")
    window.run(SET, "values-data", json.dumps([hostile]))
    window.run(SET, "values-indices", "[0]")
    window.wait("return document.querySelector('#explanation').textContent.includes('<img')")
    assert window.run("return document.title") == "Gather and scatter playground"


@pytest.mark.full
def test_another_page_can_not_make_a_call(chromium: browser.Browser, served: PlaygroundServer, tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text("<!DOCTYPE html><title>other</title>")
    chromium.open(tmp_path / "other.html")
    fetch = """
    const [address, token, body] = arguments;
    const headers = { "Content-Type": "application/json", "X-Token": token };
    return fetch(address, { method: "POST", headers, body }).then((answer) => answer.text(), (error) => "refused");
    """
    assert chromium.run(fetch, f"http://{served.host}/call", served.token, GOOD.decode()) == "refused"
    chromium.console()


@pytest.mark.full
def test_the_page_fits_a_phone(window: browser.Browser) -> None:
    window.size(360)
    assert window.run("return document.documentElement.scrollWidth <= 360")
    window.size(1440)
