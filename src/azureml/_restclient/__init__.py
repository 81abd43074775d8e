"""`azureml._restclient`: a private path that scripts reach into to lift the limit of a snapshot."""
