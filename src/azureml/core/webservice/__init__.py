"""`azureml.core.webservice`: the kinds of services."""

from azureml._lending import lend

lend(
    globals(),
    Webservice="Webservice",
    AciWebservice="AciWebservice",
    AksWebservice="AksWebservice",
    AksEndpoint="AksEndpoint",
    LocalWebservice="LocalWebservice",
)
