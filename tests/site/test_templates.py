"""The templates of the pages."""

from pathlib import Path

import pytest
from django.template import engines
from jinja2 import meta, nodes

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for app in ROOT.glob("[!.]*") for path in app.glob("**/jinja2/**/*.html"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_a_template_compiles_and_calls_only_known_functions(path: Path) -> None:
    """Filters, functions and the templates that it extends or includes exist."""
    environment = engines["jinja2"].env  # type: ignore[attr-defined]
    source = path.read_text(encoding="utf-8")
    environment.compile(source)
    parsed = environment.parse(source)
    for name in meta.find_referenced_templates(parsed):
        if name is not None:  # the name is a variable
            environment.get_template(name)
    called = {call.node.name for call in parsed.find_all(nodes.Call) if isinstance(call.node, nodes.Name)}
    imported = {name for found in parsed.find_all(nodes.FromImport) for name in found.names}
    own = {macro.name for macro in parsed.find_all(nodes.Macro)}
    assert called - imported - own <= set(environment.globals)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_no_filter_of_constants_is_computed_in_the_language_of_the_compiler(path: Path) -> None:
    """Jinja calls such a filter once, when it compiles the template."""
    parsed = engines["jinja2"].env.parse(path.read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    filters = parsed.find_all(nodes.Filter)
    assert [
        one.name for one in filters if isinstance(one.node, nodes.Const) and not any(one.find_all(nodes.Name))
    ] == []
