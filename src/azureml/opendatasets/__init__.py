"""`azureml.opendatasets`: public data that examples use."""

from azureml._lending import SDK_VERSION, lend

__version__ = SDK_VERSION

lend(globals(), Diabetes="Diabetes", MNIST="MNIST", NycTlcGreen="NycTlcGreen", NycTlcYellow="NycTlcYellow")
