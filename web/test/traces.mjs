// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
// Makes traces for tests and pictures of pages, as PyTorch's profiler writes them.

/** A rank's trace: ops, kernels, and an all-reduce for which rank 2 comes late. */
export function rankTrace(rank, slow = 1, more = []) {
  const e = [{ ph: 'X', cat: 'user_annotation', name: 'ProfilerStep#1', pid: 1, tid: 1, ts: 90, dur: 900 }];
  for (let i = 0; i < 20; i++) {
    const ts = 100 + i * 40;
    const late = rank === 2 ? 9 : rank;
    e.push({ ph: 'X', cat: 'cpu_op', name: 'aten::mm', pid: 1, tid: 1, ts, dur: 12 * slow });
    e.push({ ph: 'X', cat: 'cuda_runtime', name: 'cudaLaunchKernel', pid: 1, tid: 1, ts: ts + 1, dur: 2, args: { correlation: 2 * i + 1 } });
    e.push({ ph: 'X', cat: 'kernel', name: 'gemm', pid: 0, tid: 7, ts: ts + 4, dur: 10 * slow, args: { correlation: 2 * i + 1, device: 0, stream: 7 } });
    e.push({ ph: 'X', cat: 'cpu_op', name: 'c10d::allreduce_', pid: 1, tid: 1, ts: ts + 26, dur: 4 });
    e.push({ ph: 'X', cat: 'cuda_runtime', name: 'cudaLaunchKernel', pid: 1, tid: 1, ts: ts + 27, dur: 2, args: { correlation: 2 * i + 2 } });
    e.push({ ph: 'X', cat: 'kernel', name: 'ncclDevKernel_AllReduce_Sum_bf16', pid: 0, tid: 9, ts: ts + 30 - 5 + late / 2, dur: 14 - late, args: { correlation: 2 * i + 2, device: 0, stream: 9 } });
    e.push({ ph: 'i', s: 't', cat: 'cpu_instant_event', name: '[memory]', pid: 1, tid: 1, ts: ts + 3, args: { 'Device Type': 1, 'Device Id': 0, Addr: 4096 + i * 65536, Bytes: 1024 * (i + 1) * slow, 'Total Allocated': 0, 'Total Reserved': 1 << 20 } });
  }
  return JSON.stringify({ schemaVersion: 1, distributedInfo: { rank, world_size: 3, backend: 'nccl' }, deviceProperties: [{ id: 0, name: 'GPU', totalGlobalMem: 1 << 30 }], traceEvents: [...e, ...more] });
}

/** A training run of 20 steps whose list of losses keeps 2 MiB of each step's graph. */
export function leakTrace() {
  const e = [];
  let live = 0;
  const memory = (ts, addr, bytes) => {
    live += bytes;
    e.push({ ph: 'i', s: 't', cat: 'cpu_instant_event', name: '[memory]', pid: 1, tid: 1, ts, args: { 'Device Type': 1, 'Device Id': 0, Addr: addr, Bytes: bytes, 'Total Allocated': live, 'Total Reserved': 1 << 28 } });
  };
  const op = (name, ts, dur) => e.push({ ph: 'X', cat: 'cpu_op', name, pid: 1, tid: 1, ts, dur });
  op('aten::empty', 10, 8);
  memory(12, 1 << 30, 24 << 20);
  for (let step = 0; step < 20; step++) {
    const ts = 100 + step * 1000;
    const kept = (2 << 30) + step * (4 << 20);
    e.push({ ph: 'X', cat: 'user_annotation', name: `ProfilerStep#${step}`, pid: 1, tid: 1, ts, dur: 950 });
    op('aten::linear', ts + 10, 300);
    memory(ts + 20, (3 << 30) + step, 40 << 20);
    op('aten::cross_entropy_loss', ts + 320, 80);
    memory(ts + 330, kept, 2 << 20);
    op('autograd::engine::evaluate_function: MmBackward0', ts + 420, 400);
    memory(ts + 800, (3 << 30) + step, -(40 << 20));
  }
  return JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: 0, name: 'GPU', totalGlobalMem: 1 << 30 }], traceEvents: e });
}
