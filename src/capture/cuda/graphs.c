// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records nodes of CUDA graphs when they are made: a kernel of a replay has its node's number and no
 * call of its own. A node that a capture makes is created inside the call that would launch the
 * kernel, on the thread of the op. Instantiating a graph clones its nodes; so does a child graph. The
 * reader follows the clones (import/tide/graph_nodes.h).
 *
 * CUPTI calls these on the thread that makes the node. Replays cost nothing here. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/cuda/inject.h"

static const struct {
	uint32_t id;
	uint8_t how;
} callbacks[] = { { CUPTI_GRAPHNODE_CREATED, TIDE_NODE_CREATED },
		  { CUPTI_GRAPHNODE_CLONED, TIDE_NODE_CLONED },
		  { CUPTI_GRAPHNODE_UPDATED, TIDE_NODE_UPDATED } };
enum { N_CALLBACKS = sizeof callbacks / sizeof *callbacks };

void tide__graphs_enable(void *subscriber)
{
	const cupti_api_table *c = &tide__cupti;
	for (size_t i = 0; c->node_id && c->enable_callback && i < N_CALLBACKS; i++)
		c->enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE, callbacks[i].id);
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;
	return node && tide__cupti.node_id(node, &id) == CUPTI_OK ? id : 0;
}

void tide__graphs_record(uint32_t id, const void *data)
{
	const cupti_resource *r = data;
	const cupti_graph *g = r ? r->description : NULL;
	int saved = errno;
	tide_device_log l;
	uint64_t how = 0;
	for (size_t i = 0; i < N_CALLBACKS; i++)
		how = callbacks[i].id == id ? callbacks[i].how : how;
	if (!g || !how || !tide__cupti.node_id)
		return;
	uint64_t v[] = { (uint64_t)syscall(SYS_gettid), node_id(g->node),
			 how == TIDE_NODE_CREATED ? 0 : node_id(g->original), how,
			 g->type > 0 ? (uint64_t)g->type : 0 };
	l.n = 0;
	l.t = 0;
	if (v[1]) {
		tide__log_put(&l, TIDE_DEVICE_REC_NODE, (int64_t)tide__gpu_now(), v, 5);
		tide__log_flush(&l);
	}
	errno = saved;
}
