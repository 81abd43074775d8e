"""`azureml.data.output_dataset_config`: what a run writes that becomes data."""

from azureml._lending import leave_out, lend

lend(
    globals(),
    OutputDatasetConfig="OutputFileDatasetConfig",
    TransformationMixin="OutputFileDatasetConfig",
    OutputFileDatasetConfig="OutputFileDatasetConfig",
    OutputTabularDatasetConfig="OutputTabularDatasetConfig",
)
leave_out(globals(), "UploadOptions")
