// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compares our declarations of CUPTI's records with the toolkit's, if it is installed: compiling is
 * the test. */
#include <cupti.h>

#include "capture/cuda/cupti_abi.h"

#define SAME(ours, a, theirs, b)                                                   \
	_Static_assert(offsetof(ours, a) == offsetof(theirs, b) &&                 \
			       sizeof(((ours *)0)->a) == sizeof(((theirs *)0)->b), \
		       #ours "." #a)

SAME(cupti_kernel, registers, CUpti_ActivityKernel10, registersPerThread);
SAME(cupti_kernel, start, CUpti_ActivityKernel10, start);
SAME(cupti_kernel, end, CUpti_ActivityKernel10, end);
SAME(cupti_kernel, device, CUpti_ActivityKernel10, deviceId);
SAME(cupti_kernel, stream, CUpti_ActivityKernel10, streamId);
SAME(cupti_kernel, shared_dynamic, CUpti_ActivityKernel10, dynamicSharedMemory);
SAME(cupti_kernel, correlation, CUpti_ActivityKernel10, correlationId);
SAME(cupti_kernel, name, CUpti_ActivityKernel10, name);
SAME(cupti_kernel, node, CUpti_ActivityKernel10, graphNodeId);
SAME(cupti_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(cupti_memcpy, correlation, CUpti_ActivityMemcpy6, correlationId);
SAME(cupti_memcpy, node, CUpti_ActivityMemcpy6, graphNodeId);
SAME(cupti_memcpy_peer, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
SAME(cupti_memcpy_peer, node, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SAME(cupti_memset, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_memset, node, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_api, tid, CUpti_ActivityAPI, threadId);
SAME(cupti_api, correlation, CUpti_ActivityAPI, correlationId);
SAME(cupti_sync, stream, CUpti_ActivitySynchronization2, streamId);
SAME(cupti_overhead, start, CUpti_ActivityOverhead3, start);
SAME(cupti_memory, address, CUpti_ActivityMemory4, address);
SAME(cupti_memory, timestamp, CUpti_ActivityMemory4, timestamp);
SAME(cupti_memory, stream, CUpti_ActivityMemory4, streamId);
SAME(cupti_memory, async, CUpti_ActivityMemory4, isAsync);
SAME(cupti_memory, pool_type, CUpti_ActivityMemory4, memoryPoolConfig.memoryPoolType);
SAME(cupti_memory, pool, CUpti_ActivityMemory4, memoryPoolConfig.address);
SAME(cupti_memory, pool_size, CUpti_ActivityMemory4, memoryPoolConfig.pool.size);
SAME(cupti_memory, pool_used, CUpti_ActivityMemory4, memoryPoolConfig.utilizedSize);
SAME(cupti_memory, source, CUpti_ActivityMemory4, source);
SAME(cupti_memory_pool, device, CUpti_ActivityMemoryPool2, deviceId);
SAME(cupti_memory_pool, address, CUpti_ActivityMemoryPool2, address);
SAME(cupti_memory_pool, size, CUpti_ActivityMemoryPool2, size);
SAME(cupti_memory_pool, timestamp, CUpti_ActivityMemoryPool2, timestamp);
SAME(cupti_memory_pool, used, CUpti_ActivityMemoryPool2, utilizedSize);
SAME(cupti_callback, site, CUpti_CallbackData, callbackSite);
SAME(cupti_callback, params, CUpti_CallbackData, functionParams);
SAME(cupti_callback, result, CUpti_CallbackData, functionReturnValue);
SAME(cupti_callback, correlation, CUpti_CallbackData, correlationId);
SAME(cupti_resource, description, CUpti_ResourceData, resourceDescriptor);
SAME(cupti_graph, node, CUpti_GraphData, node);
SAME(cupti_graph, original, CUpti_GraphData, originalNode);
SAME(cupti_graph, type, CUpti_GraphData, nodeType);
_Static_assert(CUPTI_GRAPHNODE_CREATED == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED &&
		       CUPTI_GRAPHNODE_CLONED == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED &&
		       CUPTI_DOMAIN_RESOURCE == CUPTI_CB_DOMAIN_RESOURCE,
	       "callbacks about graphs");
SAME(cuda_graph_update, exec, cuGraphExecUpdate_v2_params, hGraphExec);
SAME(cuda_graph_update, graph, cuGraphExecUpdate_v2_params, hGraph);
SAME(cuda_mem_prop, location, CUmemAllocationProp, location.type);
SAME(cuda_mem_prop, id, CUmemAllocationProp, location.id);
SAME(cuda_mem_create, handle, cuMemCreate_params, handle);
SAME(cuda_mem_create, size, cuMemCreate_params, size);
SAME(cuda_mem_create, prop, cuMemCreate_params, prop);
SAME(cuda_mem_release, handle, cuMemRelease_params, handle);
SAME(cuda_mem_map, address, cuMemMap_params, ptr);
SAME(cuda_mem_map, size, cuMemMap_params, size);
SAME(cuda_mem_map, handle, cuMemMap_params, handle);
SAME(cuda_mem_unmap, address, cuMemUnmap_params, ptr);
SAME(cuda_mem_unmap, size, cuMemUnmap_params, size);
SAME(cuda_mem_retain, handle, cuMemRetainAllocationHandle_params, handle);
_Static_assert((int)CUPTI_MEM_CREATE == (int)CUPTI_DRIVER_TRACE_CBID_cuMemCreate &&
		       (int)CUPTI_MEM_RELEASE == (int)CUPTI_DRIVER_TRACE_CBID_cuMemRelease &&
		       (int)CUPTI_MEM_MAP == (int)CUPTI_DRIVER_TRACE_CBID_cuMemMap &&
		       (int)CUPTI_MEM_UNMAP == (int)CUPTI_DRIVER_TRACE_CBID_cuMemUnmap &&
		       (int)CUPTI_MEM_RETAIN ==
			       (int)CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle,
	       "numbers of driver functions");
_Static_assert((int)CUPTI_ON_EXIT == (int)CUPTI_API_EXIT &&
		       (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ==
			       (int)CUPTI_MULTIPLE_SUBSCRIBERS &&
		       CU_MEM_LOCATION_TYPE_DEVICE == 1,
	       "constants");
_Static_assert((int)CUPTI_MEMORY_POOL == (int)CUPTI_ACTIVITY_KIND_MEMORY_POOL, "kind");
_Static_assert((int)CUPTI_ATTR_PRE_ALLOCATE ==
		       (int)CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE,
	       "attribute");

int main(void)
{
	return 0;
}
