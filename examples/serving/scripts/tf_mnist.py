"""A small network on made-up digits, saved as a SavedModel; what it predicts for a few of them is kept beside it."""

import argparse
import json
import os

import numpy as np
import tensorflow as tf

from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--first-layer-neurons", type=int, default=256)
parser.add_argument("--second-layer-neurons", type=int, default=128)
parser.add_argument("--learning-rate", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()

random = np.random.RandomState(0)
patterns = random.rand(10, 784)
labels = random.randint(0, 10, 2000)
images = (patterns[labels] + 0.3 * random.standard_normal((2000, 784))).astype("float32")

tf.random.set_seed(0)
model = tf.keras.Sequential(
    [
        tf.keras.Input((784,)),
        tf.keras.layers.Dense(args.first_layer_neurons, activation="relu"),
        tf.keras.layers.Dense(args.second_layer_neurons, activation="relu"),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
optimizer = tf.keras.optimizers.SGD(learning_rate=args.learning_rate)
model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(images, labels, batch_size=args.batch_size, epochs=args.epochs, verbose=2)

run = Run.get_context()
for accuracy in history.history["accuracy"]:
    run.log("accuracy", accuracy)

os.makedirs("outputs/model", exist_ok=True)
tf.saved_model.save(model, "outputs/model")
with open("outputs/expected.json", "w") as file:
    json.dump({"images": images[:3].tolist(), "predictions": model(images[:3]).numpy().tolist()}, file)
