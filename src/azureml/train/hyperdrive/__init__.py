"""`azureml.train.hyperdrive`: on its way; each name says so when it is used."""

from azureml._lending import announce, lend

lend(globals())
announce(
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
