"""`azureml.core.compute.amlcompute`."""

from azureml._lending import lend

lend(
    globals(),
    AmlCompute="AmlCompute",
    AmlComputeStatus="AmlComputeStatus",
    AmlComputeProvisioningConfiguration="AmlComputeProvisioningConfiguration",
    ScaleSettings="ScaleSettings",
)
