"""`azureml.core.run`: Run, and the offline run that scripts compare types with."""

from azureml._lending import lend
from roost_job.tracking.offline import _OfflineRun

lend(globals(), Run="Run", _SubmittedRun="Run")
