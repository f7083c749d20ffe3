# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The memory inside nn.TransformerEncoderLayer's own kernel, which evaluates a whole layer in one op (aten::_transformer_encoder_layer_fwd).

PyTorch runs it without gradients. The allocations and their order follow ATen's transformer.cpp and attention.cu, and are those of
an H200's allocator history: the projection, its parts by head, all products with the mask, their softmax, two norms, two linear layers.
"""
from __future__ import annotations

from typing import Any


def layer(torch: Any, args: Any) -> Any:
    """Runs the allocations of one layer with ops that are counted. Returns the output."""
    src, width, heads, qkv_weight, qkv_bias, out_weight, out_bias, _, norm_first, eps, w1, b1, w2, b2, up, up_bias, down, down_bias = args[:18]
    mask = args[18] if len(args) > 18 else None
    aten = torch.ops.aten

    def linear(x: Any, weight: Any, bias: Any) -> Any:
        return aten.addmm(bias, x.reshape(-1, x.shape[-1]), weight.t()).view(*x.shape[:-1], weight.shape[0])

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return aten.native_layer_norm(x, [width], weight, bias, eps)[0]

    x = attention(torch, norm(src, w1, b1) if norm_first else src, heads, qkv_weight, qkv_bias, linear, out_weight, out_bias, mask)
    x.add_(src)
    if not norm_first:
        x = norm(x, w1, b1)
    y = linear(linear(norm(x, w2, b2) if norm_first else x, up, up_bias), down, down_bias)
    y.add_(x)
    return y if norm_first else norm(y, w2, b2)


def attention(torch: Any, x: Any, heads: int, weight: Any, bias: Any, linear: Any, out_weight: Any, out_bias: Any, mask: Any) -> Any:
    """With a mask all products are made; without one a fused kernel is used."""
    batch, time, width = x.shape
    if mask is None:
        q, k, v = (t.view(batch, time, heads, -1).transpose(1, 2) for t in linear(x, weight, bias).chunk(3, -1))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return linear(y.transpose(1, 2).reshape(batch, time, width), out_weight, out_bias)
    qkv = torch.ops.aten.mm(x.reshape(-1, width), weight.t())
    parts = torch.empty_like(qkv)
    del qkv
    products = x.new_empty(batch, heads, time, time)
    hidden = torch.empty_like(mask, dtype=torch.bool) if mask.dtype != torch.bool else None
    softmax = torch.empty_like(products)
    del products, hidden, softmax
    y = linear(torch.empty_like(x), out_weight, out_bias)
    del parts
    return y
