"""Workers that count at a parameter server, in TensorFlow's own words: what a task is, TF_CONFIG says."""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import tensorflow as tf

from azureml.core import Run

config = json.loads(os.environ["TF_CONFIG"])
cluster, task = tf.train.ClusterSpec(config["cluster"]), config["task"]
server = tf.distribute.Server(cluster, job_name=task["type"], task_index=task["index"])
if task["type"] == "ps":
    server.join()  # never returns: the platform ends it when the workers have ended

with tf.Graph().as_default():
    with tf.device("/job:ps/task:0"):
        total = tf.compat.v1.get_variable("total", initializer=0.0, use_resource=True)
        arrived = tf.compat.v1.get_variable("arrived", initializer=0.0, use_resource=True)
    add = total.assign_add(task["index"] + 1.0)
    with tf.control_dependencies([add]):
        arrive = arrived.assign_add(1.0)
    with tf.compat.v1.Session(server.target) as session:
        if task["index"] == 0:
            session.run(tf.compat.v1.global_variables_initializer())
        while session.run(tf.compat.v1.report_uninitialized_variables()).size:
            pass
        session.run(arrive)
        while session.run(arrived) < len(config["cluster"]["worker"]):
            pass
        Run.get_context().log(f"total_seen_by_worker_{task['index']}", float(session.run(total)))
