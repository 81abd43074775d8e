"""What Ray does in the same case, with its own client. Run by the peers' Python: `peer_ray.py URL DEED …` prints JSON."""

import json
import sys
import tempfile
import time
from pathlib import Path

from ray.job_submission import JobStatus, JobSubmissionClient


def job(url: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of a job that runs a script which writes one file: submitted until SUCCEEDED."""
    client = JobSubmissionClient(url)
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text("open('result.txt', 'w').write('kept')\n")
        for _ in range(rounds + 1):
            begun = time.perf_counter()
            number = client.submit_job(entrypoint="python train.py", runtime_env={"working_dir": folder})
            while (status := client.get_job_status(number)) in (JobStatus.PENDING, JobStatus.RUNNING):
                time.sleep(0.01)
            assert status is JobStatus.SUCCEEDED, client.get_job_logs(number)
            seconds.append(time.perf_counter() - begun)
    return {"seconds": seconds[1:]}  # the first one warms up, as ours does


if __name__ == "__main__":
    print(json.dumps({"job": job}[sys.argv[2]](sys.argv[1], int(sys.argv[3]))))
