"""Which handler loads a model with no code, what is refused with what to register, and what a service of it may use."""

import pytest

from roost.domain import no_code
from roost.domain.endpoints import Limits
from roost.domain.errors import InvalidEndpoint
from roost.domain.models import Model, Resources


def model(framework: str, **given: object) -> Model:
    return Model(workspace="w", name="net", version=3, manifest="", path="model", framework=framework, **given)  # type: ignore[arg-type]


class TestHandlerFor:
    @pytest.mark.parametrize(
        ("framework", "paths", "handler"),
        [
            ("TensorFlow", ["model/saved_model.pb", "model/variables/variables.index"], "tensorflow"),
            ("TensorFlow", ["model.keras"], "tensorflow"),
            ("TFKeras", ["outputs/model.h5", "outputs/log.txt"], "tensorflow"),
            ("ScikitLearn", ["model.pkl"], "sklearn"),
            ("ScikitLearn", ["outputs/model.joblib", "outputs/scaler.joblib"], "sklearn"),
            ("ScikitLearn", ["sklearn_mnist_model"], "sklearn"),
            ("Onnx", ["m.onnx", "m.onnx.data"], "onnx"),
            ("PyTorch", ["model.pt"], "torchscript"),
            ("Custom", ["flowers/MLmodel", "flowers/model.pkl"], "mlflow"),
            ("MLflow", ["flowers/MLmodel", "flowers/model.pkl"], "mlflow"),
        ],
    )
    def test_it_goes_by_framework_and_files(self, framework: str, paths: list[str], handler: str) -> None:
        assert no_code.handler_for(model(framework), paths) == handler

    @pytest.mark.parametrize(
        ("framework", "paths", "said"),
        [
            ("Custom", ["model.onnx"], "model_framework=Model.Framework.ONNX"),
            ("Custom", ["outputs/saved_model.pb"], "model_framework=Model.Framework.TENSORFLOW"),
            ("Custom", ["a.txt", "b.txt"], "one of Model.Framework.TENSORFLOW, Model.Framework.SCIKITLEARN"),
            ("Chainer", ["a.npz"], "'Chainer'"),
            ("TensorFlow", ["outputs/checkpoint", "outputs/mnist.ckpt.index"], "tf.saved_model.save"),
            ("Onnx", ["a.onnx", "b.onnx"], "there is 2: a.onnx, b.onnx"),
            ("PyTorch", ["a.pt", "b.pt"], "torch.jit.script"),
            ("MLflow", ["model.pkl"], "no file MLmodel"),
            ("ScikitLearn", [], "no files"),
        ],
    )
    def test_what_cannot_be_deployed_says_what_to_register(self, framework: str, paths: list[str], said: str) -> None:
        with pytest.raises(InvalidEndpoint) as refused:
            no_code.handler_for(model(framework), paths)
        assert said in str(refused.value)
        assert "net:3" in str(refused.value)

    @pytest.mark.parametrize(
        ("paths", "word"),
        [(["m.pkl"], "ScikitLearn"), (["m.onnx"], "Onnx"), (["m.pt"], "PyTorch"), (["m.txt"], "NAME")],
    )
    def test_the_command_line_is_told_the_framework_that_the_files_look_like(self, paths: list[str], word: str) -> None:
        with pytest.raises(InvalidEndpoint) as refused:
            no_code.handler_for(model("Custom"), paths)
        assert refused.value.cli_hint.endswith(f"roost model register net PATH --framework {word}")


class TestLimits:
    def test_they_are_those_that_the_model_was_registered_with(self) -> None:
        wished = Resources(cpu=2, memory_gb=4, gpu=1)
        made, said = no_code.limits(model("Onnx", resources=wished), "onnx")
        assert (made.cpu, made.memory_gb, made.gpu, said) == (2, 4, 1, "")

    def test_those_of_the_deployment_come_first(self) -> None:
        given = Limits(cpu=0.5, memory_gb=3, max_replicas=4)
        assert no_code.limits(model("Onnx", resources=Resources(cpu=2)), "onnx", given) == (given, "")

    def test_a_framework_gets_what_it_needs_itself(self) -> None:
        made, said = no_code.limits(model("TensorFlow", resources=Resources(cpu=1, memory_gb=0.5)), "tensorflow")
        assert (made.cpu, made.memory_gb) == (1, 2.0)
        assert "0.5 GB is less than tensorflow itself needs" in said

    def test_with_nothing_said_it_gets_that_too(self) -> None:
        made, said = no_code.limits(model("PyTorch"), "torchscript")
        assert (made.memory_gb, said) == (1.0, "")

    def test_libraries_keep_to_the_processors(self) -> None:
        assert no_code.threads(0.1, "onnx")["OMP_NUM_THREADS"] == "1"
        assert no_code.threads(2.5, "tensorflow")["TF_NUM_INTRAOP_THREADS"] == "3"
