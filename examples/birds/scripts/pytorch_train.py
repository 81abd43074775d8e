"""The script of the PyTorch articles, small: two kinds of birds are told apart, and the best model is kept as a whole.

The articles fetch pictures and a trained network from hosts that are out of reach by now; these pictures are made here.
"""

import argparse
import copy
import os

import torch
from torch import nn

from azureml.core import Run

KINDS = ("chicken", "turkey")


def pictures(count, seed):
    """Noise with a comb at the top, or a fan at the side; and which of the two."""
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(0, len(KINDS), (count,), generator=generator)
    made = torch.randn(count, 3, 32, 32, generator=generator)
    made[kinds == 0, 0, 2:8, 12:20] += 2.0
    made[kinds == 1, 2, 10:24, 24:30] += 2.0
    return made, kinds


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 5, stride=2), nn.ReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(128, len(KINDS))
    )


def train(epochs, learning_rate, momentum, run):
    """The model that was best on pictures it has not learnt from."""
    model, best, accuracy = network(), None, 0.0
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=momentum)
    images, kinds = pictures(512, seed=1)
    others, their_kinds = pictures(256, seed=2)
    for epoch in range(epochs):
        for start in range(0, len(images), 32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[start : start + 32]), kinds[start : start + 32])
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            now = (model(others).argmax(dim=1) == their_kinds).float().mean().item()
        if best is None or now > accuracy:
            best, accuracy = copy.deepcopy(model), now
        print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {now:.3f}")
        run.log("best_val_acc", accuracy)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_epochs", type=int, default=25)
    parser.add_argument("--output_dir", type=str, default="./outputs")
    parser.add_argument("--learning_rate", type=float, default=0.02)
    parser.add_argument("--momentum", type=float, default=0.9)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    run = Run.get_context()
    run.log("lr", args.learning_rate)
    run.log("momentum", args.momentum)
    model = train(args.num_epochs, args.learning_rate, args.momentum, run)
    os.makedirs(args.output_dir, exist_ok=True)
    torch.save(model.state_dict(), os.path.join(args.output_dir, "model.pt"))


if __name__ == "__main__":
    main()
