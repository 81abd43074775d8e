"""Import paths of the Azure ML SDK v1, and nothing else: each name is Roost's own class. Written for Python 3.6 and later.

`_lending.py` decides where a name comes from. What Roost does not have cannot be imported, and the error says so.
"""

import os

from azureml import _lending

_lending.lend(globals())
_lending.explain_missing_modules()

if not os.environ.get("ROOST_RUN_ID"):  # inside a run these paths come first, whatever the environment holds
    from roost_job import neighbours

    neighbours.tell(__path__)
