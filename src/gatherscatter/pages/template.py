"""Pages from templates. Every value is escaped, and only the page's own script runs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from gatherscatter.pages import require_jinja
from gatherscatter.pages.elements import Markup, clean_text
from gatherscatter.pages.palette import MONO, SANS, theme_rules

with require_jinja():
    from jinja2 import Environment, FunctionLoader, StrictUndefined


def render(
    folder: Traversable,
    template: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    rules: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    **values: Any,
) -> str:
    """Render a template. Values that are not markup are escaped.

    Parameters
    ----------
    folder : the folder of the files; other files are taken from this package
    template : the name of a file; a whole page extends ``base.html``
    styles, scripts : the names of files; ``base.css`` comes before them
    rules : rules that the page adds to its `policy`
    data : JSON values by the id of the element that holds them; ``readData`` of ``dom.js`` reads them
    values : the other values of the template
    """
    style = "\n".join(_read(folder, name) for name in ("base.css", *styles))
    style = style.replace("SANS", SANS).replace("MONO", MONO)
    script = "\n".join(_read(folder, name) for name in scripts)
    environment = Environment(
        loader=FunctionLoader(lambda name: _read(folder, name)),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup | StrictUndefined) else clean_text(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    whole = values | {
        "style": Markup(theme_rules(":root", style) + style),
        "script": Markup(script),
        "policy": Markup(policy(script, *rules)),
        "data": data or {},
    }
    return environment.get_template(template).render(whole)


def policy(script: str, *more: str) -> str:
    """Return the content security policy of a page. It loads nothing, and runs only this script.

    ``more`` are rules that a page adds.

    >>> policy("")
    "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; img-src data:"
    """
    rules = [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        *more,
    ]
    if script:
        rules.append(f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'")
    return "; ".join(rules)


def _read(folder: Traversable, name: str) -> str:
    file = folder.joinpath(name)
    return (file if file.is_file() else resources.files(__package__).joinpath(name)).read_text(encoding="utf-8")
