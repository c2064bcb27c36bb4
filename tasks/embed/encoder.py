"""A BERT encoder (Devlin et al., arXiv:1810.04805) as an OpenVINO graph: its pieces' mean is the vector."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # it tells its maker of imports

import openvino  # noqa: E402  # only after the line that silences it
from openvino import opset15 as op  # noqa: E402

Weights = Mapping[str, NDArray[Any]]
Node = Any  # openvino.Node: its package has no types

EPSILON = 1e-12
FAR_BELOW = np.float32(-1e9)  # added to what attention gives to padding, which makes it none


def encoder(weights: Weights, layers: int, heads: int) -> Any:
    """An openvino.Model; its inputs ``ids`` and ``mask`` are int64 (texts, pieces), its output float32
    (texts, dimensions).

    ``mask`` is 1 where there is a word piece and 0 where there is padding. The vectors are of unit length.
    """
    ids, mask = (op.parameter([-1, -1], np.int64, name=name) for name in ("ids", "mask"))
    real = op.convert(mask, "f32")
    hidden = norm(embedded(ids, weights), weights, "embeddings.LayerNorm")
    padding = op.subtract(constant(np.float32(1)), real)
    bias = op.unsqueeze(op.multiply(padding, constant(FAR_BELOW)), constant([1, 2]))
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        hidden = attend(hidden, bias, weights, layer, heads)
        wide = op.gelu(linear(hidden, weights, f"{layer}.intermediate.dense"), "erf")
        hidden = norm(op.add(linear(wide, weights, f"{layer}.output.dense"), hidden),
                      weights, f"{layer}.output.LayerNorm")
    counted = op.unsqueeze(real, constant(2))
    total = op.reduce_sum(op.multiply(hidden, counted), constant([1]))
    mean = op.divide(total, op.reduce_sum(counted, constant([1])))
    return openvino.Model([op.normalize_l2(mean, constant([1]), EPSILON, "max")], [ids, mask])


def embedded(ids: Node, weights: Weights) -> Node:
    """Each piece by itself and by its place."""
    pieces, places, kind = (weights[f"embeddings.{name}_embeddings.weight"]
                            for name in ("word", "position", "token_type"))
    length = op.gather(op.shape_of(ids), constant(1), constant(0))
    here = op.gather(constant(places), op.range(constant(0), length, constant(1), "i64"), constant(0))
    return op.add(op.add(op.gather(constant(pieces), ids, constant(0)), here), constant(kind[0]))


def attend(hidden: Node, bias: Node, weights: Weights, layer: str, heads: int) -> Node:
    """What each piece takes from the others, added to it."""
    def of_each_head(part: str) -> Node:
        all_heads = linear(hidden, weights, f"{layer}.attention.self.{part}")
        return op.transpose(op.reshape(all_heads, constant([0, 0, heads, -1]), True), constant([0, 2, 1, 3]))

    taken = op.scaled_dot_product_attention(*map(of_each_head, ("query", "key", "value")), bias)
    joined = op.reshape(op.transpose(taken, constant([0, 2, 1, 3])), constant([0, 0, -1]), True)
    return norm(op.add(linear(joined, weights, f"{layer}.attention.output.dense"), hidden),
                weights, f"{layer}.attention.output.LayerNorm")


def linear(of: Node, weights: Weights, name: str) -> Node:
    product = op.matmul(of, constant(weights[f"{name}.weight"]), False, True)
    return op.add(product, constant(weights[f"{name}.bias"]))


def norm(of: Node, weights: Weights, name: str) -> Node:
    even = op.mvn(of, constant([-1]), True, EPSILON, "inside_sqrt")
    return op.add(op.multiply(even, constant(weights[f"{name}.weight"])), constant(weights[f"{name}.bias"]))


def constant(value: Any) -> Node:
    return op.constant(np.asarray(value))
