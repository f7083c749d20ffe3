// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Names of kinds, in the order of their numbers (include/tidemark/kinds.h, causes of idle time), and colours (src/render/picture/colors.c).
// Made by tools/generate.

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
export const groupColors = [0x0072b2, 0xe69f00, 0x009e73, 0xd55e00, 0x56b4e9, 0xcc79a7, 0xf0e442, 0x00466e, 0x8a5f00, 0x00573f, 0x7f3800, 0xa9b4bf];
export const roleColors: Record<Role, number> = { unknown: 0xa9b4bf, parameter: 0x0072b2, gradient: 0x009e73, optimizer: 0xe69f00, activation: 0x56b4e9, input: 0xf0e442, temporary: 0xcc79a7, buffer: 0x00466e, kv_cache: 0x00573f, workspace: 0x8a5f00 };
export const idleCauseColors: Record<IdleCause, number> = { sync: 0x5a2d00, allocation: 0xe69f00, data_loading: 0x009e73, compile: 0xd55e00, runtime: 0xcc79a7, op: 0x56b4e9, python: 0xf0e442, annotation: 0x00466e, unrecorded: 0x606a74, launch: 0x0072b2 };
export const workColors: Record<string, number> = { compute: 0x009e73, communication: 0xcc79a7, memory: 0xd55e00, other: 0x606a74, 'compute + communication': 0x0072b2, 'communication + memory': 0xe69f00, 'compute + memory': 0xf0e442, 'compute + communication + memory': 0x00466e };
export const categoryColors: Record<string, number> = { op: 0x0072b2, user_annotation: 0xcc79a7, python_function: 0x56b4e9, runtime: 0xe69f00, driver: 0xc07f00, kernel: 0x009e73, memcpy: 0xd55e00, memset: 0xf0e442, mtia: 0x009e73, gpu_user_annotation: 0xdba3c3, sync: 0x9aa4ad, overhead: 0xb3aca2 };
export const boundColors: Record<string, number> = { cpu_bound: 0x0072b2, data_loading: 0xe69f00, gpu_compute_bound: 0x009e73, gpu_communication_bound: 0xcc79a7, gpu_memory_bound: 0x606a74, gpu_kernel_kernel_overhead: 0xd55e00, gpu_kernel_launch_overhead: 0x56b4e9, gpu_queued_behind_earlier_work: 0xf0e442, gpu_work_from_before_window: 0x00466e };
export const partColors: Record<string, number> = { other: 0xcccccc, model: 0x4da6b8, gradients: 0xe789ab, optimizer: 0xcec0fa, activations: 0xe38a42 };
