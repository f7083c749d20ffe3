// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Names of kinds, in the order of their numbers: include/tidemark/kinds.h and the causes of idle time. Made by tools/generate.

export const devices = ['unknown', 'cpu', 'cuda', 'hip', 'mps', 'xpu', 'mtia', 'tt', 'other'] as const;
export type DeviceKind = (typeof devices)[number];
export const pools = ['unknown', 'DRAM', 'L1', 'L1_SMALL', 'TRACE', 'heap', 'pinned', 'private'] as const;
export type PoolKind = (typeof pools)[number];
export const roles = ['unknown', 'parameter', 'gradient', 'optimizer', 'activation', 'input', 'temporary', 'buffer', 'kv_cache', 'workspace'] as const;
export type Role = (typeof roles)[number];
export const dtypes = ['unknown', 'float32', 'float16', 'bfloat16', 'float64', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'bool', 'float8_e4m3', 'float8_e5m2', 'complex64', 'complex128', 'bfp8', 'bfp4'] as const;
export type Dtype = (typeof dtypes)[number];
export const idleCauses = ['sync', 'allocation', 'data_loading', 'compile', 'runtime', 'op', 'python', 'annotation', 'unrecorded', 'launch'] as const;
export type IdleCause = (typeof idleCauses)[number];
