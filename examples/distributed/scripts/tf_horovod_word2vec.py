"""Horovod with TensorFlow 2: words get vectors from their neighbours in a text, gradients averaged over all ranks.

`--input_data` is a folder of text files, or one; without it a small text stands in, for the articles' data has no host any more.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from azureml.core import Run

TEXT = "the king rules the land and the queen rules the land while the dog chases the cat and the cat chases the mouse "


def words_of(place):
    paths = [place] if place and os.path.isfile(place) else []
    if place and os.path.isdir(place):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names]
    text = " ".join(Path(path).read_text(encoding="utf-8", errors="replace") for path in sorted(paths)) or TEXT * 50
    return text.lower().split()


parser = argparse.ArgumentParser()
parser.add_argument("--input_data", default="")
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()

hvd.init()
words = words_of(args.input_data)
vocabulary = {word: number for number, word in enumerate(sorted(set(words)))}
numbers = np.array([vocabulary[word] for word in words])
pairs = np.stack([numbers[:-1], numbers[1:]], axis=1)[hvd.rank() :: hvd.size()]  # each rank has its own share

start = np.random.RandomState(hvd.rank()).normal(scale=0.1, size=(2, len(vocabulary), 16)).astype("float32")
vectors, contexts = tf.Variable(start[0]), tf.Variable(start[1])
hvd.broadcast_variables([vectors, contexts], root_rank=0)
losses = []
for step in range(args.steps):
    batch = pairs[(step * 64) % max(1, len(pairs) - 64) :][:64]
    with tf.GradientTape() as tape:
        logits = tf.matmul(tf.gather(vectors, batch[:, 0]), contexts, transpose_b=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch[:, 1], logits=logits))
    gradients = [tf.convert_to_tensor(each) for each in tape.gradient(loss, [vectors, contexts])]
    for variable, gradient in zip((vectors, contexts), gradients):  # noqa: B905 - a keyword that older Pythons have not
        variable.assign_sub(2.0 * hvd.allreduce(gradient))
    losses.append(float(loss))

total = float(np.abs(vectors.numpy()).sum())
sums = hvd.allgather(tf.constant([total])).numpy()
run = Run.get_context()
run.log(f"same_on_rank_{hvd.rank()}", int((sums == total).sum()))
print(f"rank {hvd.rank()} of {hvd.size()}: loss {losses[0]:.3f} to {losses[-1]:.3f}, {len(words)} words")
if hvd.rank() == 0:
    run.log_list("loss", losses)
