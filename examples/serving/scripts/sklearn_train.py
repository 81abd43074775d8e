"""A classifier of made-up flowers, saved with joblib; and the same as an MLflow folder when --mlflow is given."""

import argparse
import json
import os

import joblib
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

parser = argparse.ArgumentParser()
parser.add_argument("--mlflow", action="store_true")
args = parser.parse_args()

data, labels = make_classification(300, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
table = pd.DataFrame(data, columns=["sepal_length", "sepal_width", "petal_length", "petal_width"])
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, labels)
few = table[:5]

os.makedirs("outputs", exist_ok=True)
joblib.dump(model, "outputs/model.pkl")
expected = {"predict": model.predict(few).tolist(), "predict_proba": model.predict_proba(few).tolist()}
with open("outputs/expected.json", "w") as file:
    json.dump({"rows": few.to_dict(orient="records"), **expected}, file)

if args.mlflow:
    import mlflow.pyfunc
    import mlflow.sklearn
    from mlflow.models import infer_signature

    class Shares(mlflow.pyfunc.PythonModel):
        """A model that is Python code: each row as shares of its sum."""

        def predict(self, context, model_input, params=None):  # noqa: ARG002 - as MLflow calls it
            return model_input.div(model_input.sum(axis=1), axis=0)

    mlflow.sklearn.save_model(model, "outputs/flowers", signature=infer_signature(few, model.predict(few)))
    mlflow.pyfunc.save_model("outputs/shares", python_model=Shares(), signature=infer_signature(few))
