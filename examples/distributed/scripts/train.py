"""MultiWorkerMirroredStrategy: TensorFlow reads TF_CONFIG by itself; the first worker keeps the model."""

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

strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = json.loads(os.environ["TF_CONFIG"])["task"]
generator = np.random.RandomState(0)
patterns = generator.normal(size=(10, 64)).astype("float32")
labels = generator.randint(0, 10, 1024)
images = patterns[labels] + generator.normal(scale=0.5, size=(1024, 64)).astype("float32")

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(10)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
data = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().batch(64)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
history = model.fit(data.with_options(options), epochs=args.epochs, steps_per_epoch=16, verbose=2)

run = Run.get_context()
weights = float(sum(np.abs(each).sum() for each in model.get_weights()))
run.log(f"weights_of_worker_{task['index']}", weights)
run.log(f"replicas_of_worker_{task['index']}", strategy.num_replicas_in_sync)
if task["index"] == 0:
    run.log("accuracy", float(history.history["accuracy"][-1]))
    os.makedirs(args.model_dir, exist_ok=True)
    np.savez(os.path.join(args.model_dir, "weights.npz"), *model.get_weights())
