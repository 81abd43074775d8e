"""Import paths of the Azure ML SDK v1, and nothing else: each name is Roost's own class. Written for Python 3.6 and later.

`_lending.py` decides where a name comes from. What Roost does not have yet cannot be imported, and the error says so.
"""

from azureml import _lending

_lending.explain_missing_modules()
