// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Records nodes of CUDA graphs when they are made: a kernel of a replay has its node's number and no
 * call of its own. A node that a capture makes is created inside the call that would launch the
 * kernel, on the thread of the op. Instantiating a graph clones its nodes; so does a child graph. The
 * reader follows the clones (import/tide/graph_nodes.h).
 *
 * CUPTI calls these on the thread that makes the node. Replays cost nothing here. */
#include <errno.h>
#include <string.h>
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

/* Functions of the driver that update executable graphs, by CUPTI's numbers: cuGraphExecUpdate and its
 * versions. CUPTI 13.0 makes no other callback for them. */
enum { MOST_UPDATES = 4, DRIVER_IDS = 1000 };
static uint32_t updates[MOST_UPDATES];

static void enable_updates(void *subscriber)
{
	const cupti_api_table *c = &tide__cupti;
	size_t n = 0;
	for (uint32_t id = 1; id < DRIVER_IDS && n < MOST_UPDATES; id++) {
		const char *name = NULL;
		if (c->callback_name(CUPTI_DOMAIN_DRIVER, id, &name) != CUPTI_OK || !name ||
		    strncmp(name, "cuGraphExecUpdate", 17) != 0)
			continue;
		updates[n++] = id;
		c->enable_callback(1, subscriber, CUPTI_DOMAIN_DRIVER, id);
	}
}

void tide__graphs_enable(void *subscriber)
{
	const cupti_api_table *c = &tide__cupti;
	if (c->callback_name && c->enable_callback && c->graph_id && c->exec_id)
		enable_updates(subscriber);
	for (size_t i = 0; c->node_id && c->enable_callback && i < N_CALLBACKS; i++)
		c->enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE, callbacks[i].id);
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;
	return node && tide__cupti.node_id(node, &id) == CUPTI_OK ? id : 0;
}

static void put_node(const uint64_t v[5])
{
	int saved = errno;
	tide_device_log l;
	l.n = 0;
	l.t = 0;
	tide__log_put(&l, TIDE_DEVICE_REC_NODE, (int64_t)tide__gpu_now(), v, 5);
	tide__log_flush(&l);
	errno = saved;
}

void tide__graphs_record(uint32_t id, const void *data)
{
	const cupti_resource *r = data;
	const cupti_graph *g = r ? r->description : NULL;
	uint64_t how = 0;
	for (size_t i = 0; i < N_CALLBACKS; i++)
		how = callbacks[i].id == id ? callbacks[i].how : how;
	if (!g || !how || !tide__cupti.node_id)
		return;
	uint64_t v[] = { (uint64_t)syscall(SYS_gettid), node_id(g->node),
			 how == TIDE_NODE_CREATED ? 0 : node_id(g->original), how,
			 g->type > 0 ? (uint64_t)g->type : 0 };
	if (v[1])
		put_node(v);
}

bool tide__graphs_record_call(uint32_t id, const cupti_callback *c)
{
	const cuda_graph_update *u = c->params;
	uint32_t exec = 0, graph = 0;
	bool is = false;
	for (size_t i = 0; i < MOST_UPDATES; i++)
		is |= updates[i] == id && id;
	if (!is)
		return false;
	if (c->site != CUPTI_ON_EXIT || !u || !c->result || *c->result ||
	    tide__cupti.exec_id(u->exec, &exec) != CUPTI_OK ||
	    tide__cupti.graph_id(u->graph, &graph) != CUPTI_OK)
		return true;
	uint64_t v[] = { (uint64_t)syscall(SYS_gettid), (uint64_t)exec << 32, (uint64_t)graph << 32,
			 TIDE_NODE_ALL_UPDATED, 0 };
	put_node(v);
	return true;
}
