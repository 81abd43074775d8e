"""`azureml._common`: a private path that scripts import exceptions from."""
