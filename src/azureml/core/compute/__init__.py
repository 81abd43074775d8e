"""`azureml.core.compute`: compute targets, loaded when first used. Kinds that Roost leaves out say so when they are used."""

from azureml._lending import lend

lend(
    globals(),
    ComputeTarget="ComputeTarget",
    AmlCompute="AmlCompute",
    AdlaCompute="AdlaCompute",
    AksCompute="AksCompute",
    BatchCompute="BatchCompute",
    ComputeInstance="ComputeInstance",
    DataFactoryCompute="DataFactoryCompute",
    DatabricksCompute="DatabricksCompute",
    DsvmCompute="DsvmCompute",
    HDInsightCompute="HDInsightCompute",
    KubernetesCompute="KubernetesCompute",
    RemoteCompute="RemoteCompute",
    SynapseCompute="SynapseCompute",
)
