"""A small training script: a network with one hidden layer learns to tell two spirals apart. Standard library only.

It is an ordinary script; the lines with `run` are all that was added for its metrics. Outside a run they print.
"""

import argparse
import json
import math
import os
import random

from azureml.core import Run


def spirals(count, generator):
    """Points of two interleaved spirals, with their class."""
    points = []
    for index in range(count):
        label = index % 2
        radius = 0.2 + 0.8 * generator.random()
        angle = 8.0 * radius + math.pi * label + generator.gauss(0.0, 0.35)
        points.append((radius * math.cos(angle), radius * math.sin(angle), float(label)))
    return points


class Network:
    """Two inputs, one hidden layer of tanh units, one output between 0 and 1."""

    def __init__(self, hidden, generator):
        self.inner = [[generator.gauss(0, 1.5) for _ in range(3)] for _ in range(hidden)]
        self.outer = [generator.gauss(0, 0.5) for _ in range(hidden + 1)]

    def forward(self, x, y):
        units = [math.tanh(a * x + b * y + c) for a, b, c in self.inner]
        total = self.outer[-1] + sum(self.outer[index] * unit for index, unit in enumerate(units))
        return units, 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))

    def learn(self, x, y, label, rate):
        """One step of gradient descent; the loss before it."""
        units, guess = self.forward(x, y)
        error = guess - label
        for index, unit in enumerate(units):
            back = error * self.outer[index] * (1 - unit * unit)
            self.outer[index] -= rate * error * unit
            row = self.inner[index]
            row[0] -= rate * back * x
            row[1] -= rate * back * y
            row[2] -= rate * back
        self.outer[-1] -= rate * error
        return -math.log(max(1e-12, guess if label else 1 - guess))


def accuracy(network, points):
    return sum((network.forward(x, y)[1] > 0.5) == bool(label) for x, y, label in points) / len(points)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    run = Run.get_context()
    generator = random.Random(args.seed)
    train, test = spirals(400, generator), spirals(200, generator)
    network = Network(args.hidden, generator)
    os.makedirs("logs", exist_ok=True)
    os.makedirs("outputs", exist_ok=True)

    with open("logs/epochs.csv", "w") as log:
        log.write("epoch,loss,accuracy\n")
        for epoch in range(args.epochs):
            generator.shuffle(train)
            loss = sum(network.learn(x, y, label, args.rate) for x, y, label in train) / len(train)
            right = accuracy(network, test)
            run.log("loss", loss, step=epoch)
            run.log("accuracy", right, step=epoch)
            log.write(f"{epoch},{loss:.6f},{right:.4f}\n")
            log.flush()
            print(f"epoch {epoch + 1:3d}/{args.epochs}  loss {loss:.4f}  accuracy {right:.3f}")

    with open("outputs/model.json", "w") as file:
        json.dump({"inner": network.inner, "outer": network.outer, "accuracy": right}, file)
    run.log_row("best", accuracy=right, hidden=args.hidden, rate=args.rate)
    print("kept outputs/model.json")


if __name__ == "__main__":
    main()
