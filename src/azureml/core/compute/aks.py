"""`azureml.core.compute.aks`."""

from azureml._lending import lend

lend(globals(), AksCompute="AksCompute", AksProvisioningConfiguration="AksProvisioningConfiguration")
