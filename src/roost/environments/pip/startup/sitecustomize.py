"""Read by every Python of a build whose rule hides names (`hide` in compiled.toml): each is None once its module is loaded.

Its folder stands first on the build's PYTHONPATH. It runs in the environment's own Python, 3.6 and later: standard library only.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Optional, Sequence  # noqa: UP035 - as Python 3.6 has them

HIDDEN = dict(each.rsplit(".", 1) for each in os.environ.get("ROOST_BUILD_HIDES", "").split())


class _Hiding:
    """Finds the modules in question where they are, and has their loader set the name to None at the end."""

    @staticmethod
    def find_spec(
        name: str,
        path: Optional[Sequence[str]] = None,  # noqa: UP045 - as above
        target: Optional[ModuleType] = None,  # noqa: UP045 - as above
    ) -> Optional[ModuleSpec]:  # noqa: UP045 - as above
        spec = PathFinder.find_spec(name, path, target) if name in HIDDEN else None
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_hide(module: ModuleType) -> None:
            load(module)
            setattr(module, HIDDEN[name], None)

        spec.loader.exec_module = load_and_hide  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _Hiding)
