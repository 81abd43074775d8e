"""The script of the TensorFlow article, small: two layers learn handwritten digits; the model is kept as a SavedModel."""

import argparse
import glob
import os

import numpy as np
import tensorflow as tf
from utils import load_data

from azureml.core import Run


class Network(tf.Module):
    def __init__(self, inputs, first, second, outputs):
        super().__init__()
        sizes = [(inputs, first), (first, second), (second, outputs)]
        generator = np.random.RandomState(0)
        self.weights = [tf.Variable(generator.randn(a, b).astype("float32") * (2.0 / a) ** 0.5) for a, b in sizes]
        self.biases = [tf.Variable(tf.zeros([b])) for _, b in sizes]

    @tf.function(input_signature=[tf.TensorSpec([None, 784], tf.float32)])
    def __call__(self, images):
        found = images
        for number, weight in enumerate(self.weights):
            found = tf.matmul(found, weight) + self.biases[number]
            if number < 2:
                found = tf.nn.relu(found)
        return found


def read(folder, name, label=False):
    (path,) = glob.glob(os.path.join(folder, "**", name), recursive=True)
    return load_data(path, label)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data-folder", type=str, dest="data_folder", help="where the dataset is")
    parser.add_argument("--batch-size", type=int, dest="batch_size", default=64)
    parser.add_argument("--first-layer-neurons", type=int, dest="first", default=128)
    parser.add_argument("--second-layer-neurons", type=int, dest="second", default=128)
    parser.add_argument("--learning-rate", type=float, dest="learning_rate", default=0.01)
    parser.add_argument("--epochs", type=int, default=5)
    args = parser.parse_args()

    images = read(args.data_folder, "train-images-idx3-ubyte.gz").astype("float32") / 255.0
    labels = read(args.data_folder, "train-labels-idx1-ubyte.gz", label=True).reshape(-1).astype("int64")
    others = read(args.data_folder, "t10k-images-idx3-ubyte.gz").astype("float32") / 255.0
    their_labels = read(args.data_folder, "t10k-labels-idx1-ubyte.gz", label=True).reshape(-1).astype("int64")

    run = Run.get_context()
    model = Network(784, args.first, args.second, 10)
    variables = list(model.trainable_variables)
    for epoch in range(args.epochs):
        for start in range(0, len(images), args.batch_size):
            stretch = slice(start, start + args.batch_size)
            with tf.GradientTape() as tape:
                scores = model(images[stretch])
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels[stretch], scores))
            for number, gradient in enumerate(tape.gradient(loss, variables)):
                variables[number].assign_sub(args.learning_rate * gradient)
        accuracy = float(np.mean(np.argmax(model(others).numpy(), axis=1) == their_labels))
        print(f"epoch {epoch}: loss {float(loss):.4f}, accuracy {accuracy:.3f}")
        run.log("validation_acc", accuracy)
    run.log("final_acc", accuracy)
    tf.saved_model.save(model, "./outputs/model", signatures=model.__call__.get_concrete_function())


if __name__ == "__main__":
    main()
