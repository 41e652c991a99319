from __future__ import annotations

import shutil
import subprocess

import pytest

from rlprof.renderers.browser_scripts import bundle

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs node: apt-get install nodejs"
)


def bundled(**modules: str) -> str:
    """The bundle of main.js among modules given as name="text"."""
    return bundle("main.js", {f"{name}.js": text for name, text in modules.items()}.__getitem__)


def printed(script: str) -> str:
    outcome = subprocess.run(
        ["node", "-"], input=script, capture_output=True, text=True, timeout=30, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.strip()


@needs_node
def test_every_known_form_of_import_and_export_runs() -> None:
    script = bundled(
        shapes="""
export const SIDES = 4;
export function area(a) {
  return a * a;
}
export class Square {
  name = "square";
}
export async function later() {
  return "later";
}
""",
        main="""
import {
  SIDES,
  area as surface,
  Square,
} from "./shapes.js";
import { later } from "./shapes.js";
// import is only a word here
later().then((word) => console.log(SIDES, surface(3), new Square().name, word));
""",
    )

    assert printed(script) == "4 9 square later"


@needs_node
def test_private_names_of_two_modules_do_not_clash() -> None:
    script = bundled(
        one="const secret = 1;\nfunction twice(n) { return 2 * n; }\nexport const one = twice(secret);",
        two="const secret = 10;\nfunction twice(n) { return n; }\nexport const two = twice(secret);",
        main="""import { one } from "./one.js";
import { two } from "./two.js";
const secret = 100;
console.log(one, two, secret);""",
    )

    assert printed(script) == "2 10 100"


@needs_node
def test_a_module_that_two_import_runs_once() -> None:
    script = bundled(
        base='console.log("once");\nexport const base = 1;',
        left='import { base } from "./base.js";\nexport const left = base;',
        main="""import { base } from "./base.js";
import { left } from "./left.js";
console.log(base + left);""",
    )

    assert printed(script) == "once\n2"


def test_modules_that_import_each_other_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"main\.js -> a\.js -> main\.js"):
        bundled(
            a='import { b } from "./main.js";\nexport const a = 1;',
            main='import { a } from "./a.js";\nexport const b = 1;',
        )


def test_a_name_that_is_not_exported_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"a\.js exports no b"):
        bundled(a="export const a = 1;\nconst b = 2;", main='import { a, b } from "./a.js";')


@pytest.mark.parametrize(
    "line",
    [
        'import a from "./a.js";',
        'import * as a from "./a.js";',
        'import "./a.js";',
        "import { a } from './a.js';",
        'import { a } from "a";',
        'import { a } from "./vendor/a.js";',
        'const a = await import("./a.js");',
        "const here = import.meta.url;",
        "export default function a() {}",
        "export { a };",
        'export * from "./a.js";',
        "export let a = 1;",
        "await fetch(1);",
    ],
)
def test_syntax_that_it_does_not_know_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"main\.js"):
        bundled(a="export const a = 1;", main=f"const first = 1;\n{line}\n")


@pytest.mark.parametrize("text", ["</script>", "<!-- x", "]]>", "</SCRIPT"])
def test_what_would_end_the_script_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="would end the script"):
        bundled(main=f'const text = "{text}";')
