"""Reads the decorators of `inference-schema` on `run()`: its parameters, and input and output as OpenAPI.

The package belongs to the script; when it is not loaded, no function is decorated. Python 3.6 and later, standard library only.
"""

import sys
from typing import Any, Callable, Dict, Optional


def decorated(run: Callable[..., Any]) -> bool:
    """True when `run` takes its parameters by name, converted by `@input_schema`."""
    found = sys.modules.get("inference_schema.schema_util")
    if found is None:
        return False
    return "properties" in _asked(found, "get_input_schema", run)


def schema_of(run: Callable[..., Any]) -> Optional[Dict[str, Any]]:
    """{"input", "output"} as far as the decorators define them; None when they define neither."""
    found = sys.modules.get("inference_schema.schema_util")
    if found is None:
        return None
    said = {
        "input": _asked(found, "get_input_schema", run),
        "output": _asked(found, "get_output_schema", run),
    }
    return said if any(len(schema) > 1 for schema in said.values()) else None


def _asked(module: Any, name: str, run: Callable[..., Any]) -> Dict[str, Any]:
    schema = getattr(module, name)(run)
    return dict(schema) if isinstance(schema, dict) else {}
