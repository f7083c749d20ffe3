# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes small exports of Nsight Systems with the columns of 2021 and of 2025.

    nsys_files.write(path, schema=2025, rows=100, seed=1)

Two processes with a device each, of which the second sees its device as number 0; kernels with and
without a graph, copies, fills, ranges of every kind, library calls, overhead, synchronisation, memory.
`python3 nsys_files.py FILE ROWS [SCHEMA]` writes one of any size.
"""
import random
import sqlite3
import sys
from pathlib import Path

COMMON = ["start INTEGER NOT NULL", "end INTEGER NOT NULL", "deviceId INTEGER NOT NULL", "contextId INTEGER NOT NULL",
          "streamId INTEGER NOT NULL", "correlationId INTEGER", "globalPid INTEGER"]
KERNEL = ["demangledName INTEGER NOT NULL", "shortName INTEGER NOT NULL", "mangledName INTEGER", "launchType INTEGER",
          "cacheConfig INTEGER", "registersPerThread INTEGER NOT NULL", "gridX INTEGER NOT NULL", "gridY INTEGER NOT NULL",
          "gridZ INTEGER NOT NULL", "blockX INTEGER NOT NULL", "blockY INTEGER NOT NULL", "blockZ INTEGER NOT NULL",
          "staticSharedMemory INTEGER NOT NULL", "dynamicSharedMemory INTEGER NOT NULL", "localMemoryPerThread INTEGER NOT NULL",
          "localMemoryTotal INTEGER NOT NULL", "gridId INTEGER NOT NULL", "sharedMemoryExecuted INTEGER"]
HOST = ["start INTEGER NOT NULL", "end INTEGER NOT NULL"]
OLD = {
    "StringIds": ["id INTEGER NOT NULL PRIMARY KEY", "value TEXT NOT NULL"],
    "TARGET_INFO_CUDA_GPU": ["id INTEGER NOT NULL", "name TEXT NOT NULL", "totalMemory INTEGER"],
    "CUPTI_ACTIVITY_KIND_RUNTIME": HOST + ["eventClass INTEGER NOT NULL", "globalTid INTEGER", "correlationId INTEGER",
                                           "nameId INTEGER NOT NULL", "returnValue INTEGER NOT NULL", "callchainId INTEGER"],
    "CUPTI_ACTIVITY_KIND_KERNEL": COMMON + KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": COMMON + ["bytes INTEGER NOT NULL", "copyKind INTEGER NOT NULL", "srcKind INTEGER", "dstKind INTEGER"],
    "CUPTI_ACTIVITY_KIND_MEMSET": COMMON + ["value INTEGER NOT NULL", "bytes INTEGER NOT NULL", "memKind INTEGER"],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": COMMON + ["syncType INTEGER NOT NULL", "eventId INTEGER NOT NULL"],
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": COMMON[2:] + ["eventId INTEGER NOT NULL"],
    "NVTX_EVENTS": ["start INTEGER NOT NULL", "end INTEGER", "eventType INTEGER NOT NULL", "rangeId INTEGER", "category INTEGER",
                    "color INTEGER", "text TEXT", "globalTid INTEGER", "endGlobalTid INTEGER", "textId INTEGER", "domainId INTEGER"],
    "OSRT_API": HOST + ["eventClass INTEGER NOT NULL", "globalTid INTEGER", "correlationId INTEGER", "nameId INTEGER NOT NULL",
                        "returnValue INTEGER NOT NULL", "nestingLevel INTEGER", "callchainId INTEGER NOT NULL"],
    "PROFILER_OVERHEAD": HOST + ["globalTid INTEGER", "correlationId INTEGER", "nameId INTEGER NOT NULL", "returnValue INTEGER NOT NULL"],
    "ThreadNames": ["nameId INTEGER NOT NULL", "priority INTEGER", "globalTid INTEGER"],
}
NEW = dict(OLD)
del NEW["TARGET_INFO_CUDA_GPU"]
for name, columns in {"CUPTI_ACTIVITY_KIND_KERNEL": ["graphNodeId INTEGER", "graphId INTEGER", "clusterX INTEGER"],
                      "CUPTI_ACTIVITY_KIND_MEMCPY": ["graphNodeId INTEGER", "copyCount INTEGER"],
                      "CUPTI_ACTIVITY_KIND_MEMSET": ["graphNodeId INTEGER"],
                      "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": ["eventSyncId INTEGER"],
                      "CUPTI_ACTIVITY_KIND_CUDA_EVENT": ["eventSyncId INTEGER"],
                      "NVTX_EVENTS": ["jsonText TEXT", "binaryData TEXT"]}.items():
    NEW[name] = OLD[name] + columns
NEW |= {
    "TARGET_INFO_GPU": ["vmId INTEGER NOT NULL", "id INTEGER NOT NULL", "name TEXT", "totalMemory INTEGER"],
    "TARGET_INFO_CUDA_DEVICE": ["gpuId INTEGER", "cudaId INTEGER NOT NULL", "pid INTEGER NOT NULL"],
    "TARGET_INFO_SESSION_START_TIME": ["utcEpochNs INTEGER", "utcTime TEXT"],
    "META_DATA_EXPORT": ["name TEXT NOT NULL", "value TEXT"],
    "PROCESSES": ["globalPid INTEGER", "pid INTEGER", "name TEXT"],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": COMMON + ["graphId INTEGER NOT NULL", "graphExecId INTEGER NOT NULL"],
    "CUDA_GPU_MEMORY_USAGE_EVENTS": ["start INTEGER NOT NULL", "globalPid INTEGER NOT NULL", "deviceId INTEGER NOT NULL",
                                     "contextId INTEGER NOT NULL", "address INTEGER NOT NULL", "pc INTEGER NOT NULL",
                                     "bytes INTEGER NOT NULL", "memKind INTEGER NOT NULL", "memoryOperationType INTEGER NOT NULL",
                                     "name TEXT", "correlationId INTEGER", "streamId INTEGER"],
}
WALL = 1_763_500_000_000_000_000
PIDS = [4001, 4002]


def global_id(pid: int, tid: int = 0) -> int:
    return 1 << 48 | pid << 24 | tid


class Writer:
    def __init__(self, path, schema):
        Path(path).unlink(missing_ok=True)
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA page_size=4096")
        self.new = schema >= 2025
        self.tables = NEW if self.new else OLD
        self.texts = {}
        self.rows = {name: [] for name in self.tables}
        for name, columns in self.tables.items():
            self.db.execute(f"CREATE TABLE {name} ({', '.join(columns)})")

    def text(self, s: str) -> int:
        return self.texts.setdefault(s, len(self.texts) + 28)

    def add(self, table: str, **values) -> None:
        if table not in self.tables:
            return
        row = []
        for column in self.tables[table]:
            name, default = column.split()[0], 0 if "NOT NULL" in column else None
            row.append(values.get(name, default))
        self.rows[table].append(row)
        if len(self.rows[table]) == 50_000:
            self.flush(table)

    def flush(self, table: str) -> None:
        marks = ", ".join("?" * len(self.tables[table]))
        self.db.executemany(f"INSERT INTO {table} VALUES ({marks})", self.rows[table])
        self.rows[table] = []

    def close(self) -> None:
        self.rows["StringIds"] = [[i, s] for s, i in self.texts.items()]
        for table in self.tables:
            self.flush(table)
        self.db.commit()
        self.db.close()


def write(path, schema: int = 2025, rows: int = 60, seed: int = 1) -> None:
    r = random.Random(seed)
    w = Writer(path, schema)
    kernels = [w.text(s) for s in ("void gemm<float, 128>(float *, float *, int)", "void relu<__half>(__half *)",
                                   "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)")]
    short = w.text("kernel")
    for i, pid in enumerate(PIDS):
        describe(w, i, pid)
        one_process(w, r, i, pid, rows, kernels, short)
    w.close()


def describe(w: Writer, i: int, pid: int) -> None:
    w.add("TARGET_INFO_CUDA_GPU", id=i, name="NVIDIA A100-SXM4-40GB", totalMemory=40 << 30)
    w.add("TARGET_INFO_GPU", id=i, name="NVIDIA H200", totalMemory=141 << 30)
    w.add("TARGET_INFO_CUDA_DEVICE", gpuId=i, cudaId=0 if w.new else i, pid=pid)
    w.add("PROCESSES", globalPid=global_id(pid), pid=pid, name="python3")
    w.add("ThreadNames", nameId=w.text("main"), globalTid=global_id(pid, pid))
    if i == 0:
        w.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=WALL, utcTime="2025-11-18")
        w.add("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value="2025.5.1.1")
        w.add("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.24.0")


def one_process(w: Writer, r: random.Random, i: int, pid: int, rows: int, kernels: list, short: int) -> None:
    tid, gpu = global_id(pid, pid), dict(deviceId=0 if w.new else i, contextId=1, globalPid=global_id(pid))
    launch, copy, fill, wait = (w.text(s) for s in ("cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMemsetAsync_v3020_ptsz",
                                                     "cudaStreamSynchronize_v3020"))
    driver, record, poll = w.text("cuLaunchKernel"), w.text("cudaEventRecord_v3020"), w.text("poll")
    t, device_t, at = 1000 + 17 * i, 2000, 1 << 32
    live = []
    for k in range(rows):
        step, corr = t, 10 * k + 1
        w.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=t + 10, end=t + 60, globalTid=tid, correlationId=corr,
              nameId=driver if k % 7 == 6 else launch, eventClass=1 if k % 7 == 6 else 0)
        device_t = max(device_t, t + 70) + r.randrange(5)
        ns = r.randrange(100, 900)
        w.add("CUPTI_ACTIVITY_KIND_KERNEL", start=device_t, end=device_t + ns, streamId=7 + k % 2, correlationId=corr,
              demangledName=kernels[k % 3], shortName=short, gridX=4, gridY=1, gridZ=1, blockX=256, blockY=1, blockZ=1,
              registersPerThread=32, dynamicSharedMemory=1024, graphNodeId=(1 << 33) + k if k % 5 == 0 else 0, **gpu)
        device_t += ns
        w.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=t + 70, end=t + 90, globalTid=tid, correlationId=corr + 1, nameId=copy)
        w.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=device_t, end=device_t + 50, streamId=7, correlationId=corr + 1, bytes=4096 + k,
              copyKind=1 + k % 2, srcKind=k % 2, dstKind=2, **gpu)
        if k % 3 == 0:
            w.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=t + 91, end=t + 95, globalTid=tid, correlationId=corr + 2, nameId=fill)
            w.add("CUPTI_ACTIVITY_KIND_MEMSET", start=device_t + 50, end=device_t + 60, streamId=7, correlationId=corr + 2, bytes=64,
                  memKind=2, **gpu)
        if k % 4 == 0:
            sync(w, t, tid, corr, gpu, wait, record)
        if k % 8 == 0:
            w.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=device_t + 61, end=device_t + 80, streamId=9, correlationId=corr + 5,
                  graphId=3, graphExecId=4, **gpu)
            w.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=t + 12, address=at, bytes=1024 * (k + 1), memKind=2, memoryOperationType=0,
                  correlationId=corr, **gpu)
            live.append((at, 1024 * (k + 1)))
            at += 1 << 20
        if k % 16 == 15:
            addr, n = live.pop(0)
            w.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=t + 40, address=addr, bytes=n, memKind=2, memoryOperationType=1,
                  correlationId=corr, **gpu)
        device_t += 100
        t += 300
        ranges(w, k, step, t, tid, poll)
    w.add("NVTX_EVENTS", start=1005, eventType=60, text="never ends", globalTid=tid)


def sync(w: Writer, t: int, tid: int, corr: int, gpu: dict, wait: int, record: int) -> None:
    w.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=t + 96, end=t + 99, globalTid=tid, correlationId=corr + 3, nameId=record)
    w.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", streamId=7, correlationId=corr + 3, eventId=1, eventSyncId=corr, **gpu)
    w.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=t + 100, end=t + 200, globalTid=tid, correlationId=corr + 4, nameId=wait)
    w.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=t + 101, end=t + 199, streamId=7, correlationId=corr + 4,
          syncType=1 + corr % 3, eventId=1, eventSyncId=corr, **gpu)


def ranges(w: Writer, k: int, t0: int, t1: int, tid: int, poll: int) -> None:
    if k % 10 == 0:
        w.add("NVTX_EVENTS", start=t0, end=t1 - 1, eventType=59, text="step", globalTid=tid)
        w.add("NVTX_EVENTS", start=t0 + 3, eventType=34, text=f"note {k}", globalTid=tid)
        w.add("PROFILER_OVERHEAD", start=t0 + 250, end=t0 + 260, globalTid=tid, nameId=w.text("Buffer flush"))
    w.add("NVTX_EVENTS", start=t0 + 5, end=t1 - 40, eventType=59, globalTid=tid,
          textId=w.text(f"aten::linear, seq = {k % 50}, op_id = {k % 70}"))
    w.add("OSRT_API", start=t0 + 20, end=t1 - 10, globalTid=tid + 1, nameId=poll)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 2025, int(sys.argv[2]))
