"""`azureml.core.authentication`: accepted wherever scripts pass them, and not needed."""

from azureml._lending import lend

lend(
    globals(),
    AbstractAuthentication="AbstractAuthentication",
    Audience="Audience",
    AzureCliAuthentication="AzureCliAuthentication",
    InteractiveLoginAuthentication="InteractiveLoginAuthentication",
    MsiAuthentication="MsiAuthentication",
    ServicePrincipalAuthentication="ServicePrincipalAuthentication",
    TokenAuthentication="TokenAuthentication",
)
