"""`azureml.core.image`: left out on purpose; each name says what to do instead when it is used."""

from azureml._lending import leave_out, lend

lend(globals())
leave_out(globals(), "ContainerImage", "Image")
