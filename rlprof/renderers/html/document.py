"""An HTML document with all that it needs inside, and leave to run nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from markupsafe import Markup

from rlprof.names import printable
from rlprof.report import wording
from rlprof.resources import asset

if TYPE_CHECKING:
    from jinja2 import Environment

View: TypeAlias = dict[str, Any]
"""Data that a template shows of one thing, by its own names."""

_LONGEST_TEXT: Final = 1_000
"""Characters of any text on the page; what is longer is data, or hostile."""


def carried(styles: Iterable[str], scripts: Sequence[str]) -> View:
    """Return what every template takes: ``styles``, by the names of assets, ``scripts``, and their policy."""
    sheet = "\n".join(asset(name) for name in styles)
    return {
        "policy": Markup(policy(scripts, sheet)),
        "styles": inlined(sheet, "</style"),
        "scripts": [inlined(script, "</script") for script in scripts],
    }


def policy(scripts: Iterable[str], styles: str) -> str:
    """Return what the page may load and run: nothing but what is in it, as it is now."""
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(styles)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def inlined(text: str, end: str) -> Markup:
    """An asset as it is: a browser takes the hash of what lies between the tags, to the letter."""
    assert end not in text.lower(), f"an asset of rlprof itself would end its element: {end}"
    assert "<!--" not in text, "what follows <!-- in a script is read in another way"
    assert "\r" not in text, "browsers change the ends of lines before they take the hash"
    return Markup(text)


@cache
def environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    """Every text of the page goes through here, before it is escaped: names can hold anything."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    parts = value.split(wording.GLUE)
    return "\u00a0".join(printable(part, _LONGEST_TEXT) for part in parts)
