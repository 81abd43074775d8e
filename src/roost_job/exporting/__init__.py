"""A registered model exported to ONNX, by a job in the model's own environment. `job.main` is the story.

samples          the sample input that the job was given, as arrays
torch_models     PyTorch: TorchScript, or a whole module that torch.save wrote
sklearn_models   scikit-learn, with skl2onnx
comparing        ONNX Runtime beside the model: the same numbers, or no export

Python 3.6+; each part imports the framework that it is for.
"""


class Refused(Exception):
    """The model cannot be exported; the message says why, and what to do instead."""
