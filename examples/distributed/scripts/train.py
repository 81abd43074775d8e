"""MultiWorkerMirroredStrategy: TensorFlow reads TF_CONFIG by itself; the first worker keeps the model.

The loop is written out, since Keras 3 does not train over several workers by `fit`.
"""

import argparse
import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import numpy as np
import tensorflow as tf

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--model-dir", default="./outputs/keras-model")
args = parser.parse_args()

try:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
except AttributeError:  # TensorFlow before 2.4
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
config = json.loads(os.environ["TF_CONFIG"])
index = config["task"]["index"]
patterns = np.random.RandomState(0).normal(size=(10, 64)).astype("float32")
generator = np.random.RandomState(index + 1)  # each worker has its own share of the data
labels = generator.randint(0, 10, 1024)
images = patterns[labels] + generator.normal(scale=0.5, size=(1024, 64)).astype("float32")

with strategy.scope():
    mean = tf.VariableAggregation.MEAN  # TensorFlow before 2.4 wants to know, though the gradients are the same by then
    weights = tf.Variable(tf.zeros((64, 10)), aggregation=mean)
    bias = tf.Variable(tf.zeros(10), aggregation=mean)


@tf.function
def step(batch, classes):
    """One step of gradient descent, its gradients averaged over the workers."""

    def here(batch, classes):
        with tf.GradientTape() as tape:
            logits = tf.matmul(batch, weights) + bias
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits))
        context = tf.distribute.get_replica_context()
        gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, tape.gradient(loss, [weights, bias]))
        for variable, gradient in zip((weights, bias), gradients):  # noqa: B905 - a keyword that older Pythons have not
            variable.assign_sub(0.1 * gradient)
        return loss

    return strategy.run(here, args=(batch, classes))


for epoch in range(args.epochs):
    for start in range(0, 1024, 64):
        loss = step(tf.constant(images[start : start + 64]), tf.constant(labels[start : start + 64]))
    print(f"epoch {epoch}: loss {float(loss):.4f}")

run = Run.get_context()
run.log(f"weights_of_worker_{index}", float(np.abs(weights.numpy()).sum()))
run.log(f"replicas_of_worker_{index}", strategy.num_replicas_in_sync)
if index == 0:
    run.log("environment", config["environment"])
    guesses = np.argmax(images @ weights.numpy() + bias.numpy(), axis=1)
    run.log("accuracy", float((guesses == labels).mean()))
    os.makedirs(args.model_dir, exist_ok=True)
    np.savez(os.path.join(args.model_dir, "weights.npz"), weights=weights.numpy(), bias=bias.numpy())
