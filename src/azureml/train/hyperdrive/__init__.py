"""`azureml.train.hyperdrive`: planned; each name says so when it is used."""

from azureml._lending import SDK_VERSION, leave_out, lend

__version__ = SDK_VERSION

lend(globals())
leave_out(
    globals(),
    "BanditPolicy",
    "BayesianParameterSampling",
    "GridParameterSampling",
    "HyperDriveConfig",
    "HyperDriveRun",
    "MedianStoppingPolicy",
    "NoTerminationPolicy",
    "PrimaryMetricGoal",
    "RandomParameterSampling",
    "TruncationSelectionPolicy",
    "choice",
    "lognormal",
    "loguniform",
    "normal",
    "qlognormal",
    "qloguniform",
    "qnormal",
    "quniform",
    "randint",
    "uniform",
)
