"""A registered model exported to ONNX, by a job in the model's own environment. Start at `job.main`.

samples          the job's sample input, as arrays
torch_models     PyTorch: TorchScript, or a whole module that torch.save wrote
sklearn_models   scikit-learn, with skl2onnx
comparing        compares ONNX Runtime with the model: the same numbers, or no export

Python 3.6+; each part imports its own framework.
"""


class Refused(Exception):
    """The model cannot be exported; the message has the reason and the next step."""
