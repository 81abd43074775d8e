"""The models that the scoring benchmark serves, and the peers that serve them beside us. Run by the peers' Python.

peer_scoring.py make FOLDER          writes small models: sklearn.pkl, model.onnx, and MLflow folders of both
peer_scoring.py uvicorn FOLDER KIND PORT     a bare endpoint, one process: no framework, no checks
"""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

ROWS = [[5.1, 3.5, 1.4, 0.2]]


def make(folder: str) -> None:
    import mlflow
    import numpy as np
    from skl2onnx import to_onnx
    from sklearn.datasets import load_iris
    from sklearn.linear_model import LogisticRegression

    data = load_iris()
    model = LogisticRegression(max_iter=500).fit(data.data, data.target)
    exported = to_onnx(model, data.data[:1].astype(np.float32), options={"zipmap": False})
    place = Path(folder)
    (place / "sklearn.pkl").write_bytes(pickle.dumps(model))
    (place / "model.onnx").write_bytes(exported.SerializeToString())
    mlflow.sklearn.save_model(model, place / "mlflow-sklearn", serialization_format="pickle")
    mlflow.onnx.save_model(exported, place / "mlflow-onnx")


def predictor(folder: str, kind: str) -> Any:
    """rows → labels."""
    import numpy as np

    if kind == "sklearn":
        model = pickle.loads(Path(folder, "sklearn.pkl").read_bytes())
        return lambda rows: model.predict(np.array(rows)).tolist()
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(Path(folder, "model.onnx")), settings)
    name = session.get_inputs()[0].name
    return lambda rows: session.run(None, {name: np.array(rows, dtype=np.float32)})[0].tolist()


def bare(folder: str, kind: str, port: str) -> None:
    import uvicorn

    predict = predictor(folder, kind)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        answer = json.dumps(predict(json.loads(body)["data"])).encode() if body else b"{}"
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", access_log=False)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        bare(*sys.argv[2:])
