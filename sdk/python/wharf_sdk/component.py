"""The module that componentize-py makes a component of: it imports the plugin's own module,
`plugin`, and ends the build. Authors never import it.
"""

# The plugin is there in a component only.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys

from . import _backend, _bridge, _stdlib, _wasm, handler
from ._serve import Serve

__all__ = ["Handler", "Setup"]


def _the_plugin() -> type[handler.Handler]:
    # The plugin's folder is its author's: nothing is left there.
    sys.dont_write_bytecode = True
    import plugin

    match handler.plugins:
        case [only]:
            return only
        case []:
            raise ImportError(f"{plugin.__file__} has no class with @wharf_sdk.plugin")
        case several:
            names = ", ".join(cls.__name__ for cls in several)
            raise ImportError(f"a component has one class with @wharf_sdk.plugin, and there are several: {names}")


Setup, Handler = _wasm.exports_of(Serve(_the_plugin(), _bridge.install(), _stdlib.begin_instance))
_backend.use(_wasm.Host())
_stdlib.seal()
