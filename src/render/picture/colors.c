// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/picture/colors.h"

#include <tidemark/kinds.h>

#include "analyze/device/hta.h"

enum { /* the set of Okabe and Ito, and a few more */
       BLUE = 0x0072b2,
       SKY = 0x56b4e9,
       PURPLE = 0xcc79a7,
       ORANGE = 0xe69f00,
       GREEN = 0x009e73,
       VERMILION = 0xd55e00,
       YELLOW = 0xf0e442,
       NIGHT = 0x00466e,
       AMBER = 0x8a5f00,
       PINE = 0x00573f,
       RUST = 0x7f3800,
       GREY = 0xa9b4bf,
       STONE = 0x606a74,
       BROWN = 0x5a2d00,
};

const uint32_t tide__group_colors[TIDE_GROUP_COLORS] = { BLUE,	ORANGE, GREEN,	VERMILION,
							 SKY,	PURPLE, YELLOW, NIGHT,
							 AMBER, PINE,	RUST,	GREY };

static const tide_color roles[] = {
	{ "unknown", GREY },
	{ "parameter", BLUE },
	{ "gradient", GREEN },
	{ "optimizer", ORANGE },
	{ "activation", SKY },
	{ "input", YELLOW },
	{ "temporary", PURPLE },
	{ "buffer", NIGHT },
	{ "kv_cache", PINE },
	{ "workspace", AMBER },
	{ 0 },
};

static const tide_color causes[] = {
	{ "sync", BROWN },
	{ "allocation", ORANGE },
	{ "data_loading", GREEN },
	{ "compile", VERMILION },
	{ "runtime", PURPLE },
	{ "op", SKY },
	{ "python", YELLOW },
	{ "annotation", NIGHT },
	{ "unrecorded", STONE },
	{ "launch", BLUE },
	{ 0 },
};
_Static_assert(sizeof causes / sizeof *causes == TIDE_CAUSES + 1, "a colour for each cause");

static const tide_color work[] = {
	{ "compute", GREEN },
	{ "communication", PURPLE },
	{ "memory", VERMILION },
	{ "other", STONE },
	{ "compute + communication", BLUE },
	{ "communication + memory", ORANGE },
	{ "compute + memory", YELLOW },
	{ "compute + communication + memory", NIGHT },
	{ 0 },
};

static const tide_color categories[] = {
	{ "op", BLUE },
	{ "user_annotation", PURPLE },
	{ "python_function", SKY },
	{ "runtime", ORANGE },
	{ "driver", 0xc07f00 },
	{ "kernel", GREEN },
	{ "memcpy", VERMILION },
	{ "memset", YELLOW },
	{ "mtia", GREEN },
	{ "gpu_user_annotation", 0xdba3c3 },
	{ "sync", 0x9aa4ad },
	{ "overhead", 0xb3aca2 },
	{ 0 },
};

static const tide_color bounds[] = {
	{ "cpu_bound", BLUE },
	{ "data_loading", ORANGE },
	{ "gpu_compute_bound", GREEN },
	{ "gpu_communication_bound", PURPLE },
	{ "gpu_memory_bound", STONE },
	{ "gpu_kernel_kernel_overhead", VERMILION },
	{ "gpu_kernel_launch_overhead", SKY },
	{ "gpu_queued_behind_earlier_work", YELLOW },
	{ "gpu_work_from_before_window", NIGHT },
	{ 0 },
};

static const tide_color parts[TIDE_PARTS_N + 1] = {
	[TIDE_PART_OTHER] = { "other", 0xcccccc },
	[TIDE_PART_MODEL] = { "model", 0x4da6b8 },
	[TIDE_PART_GRADIENTS] = { "gradients", 0xe789ab },
	[TIDE_PART_OPTIMIZER] = { "optimizer", 0xcec0fa },
	[TIDE_PART_ACTIVATIONS] = { "activations", 0xe38a42 },
};

const tide_color_set tide__color_sets[] = {
	{ "roles", roles },
	{ "idle_causes", causes },
	{ "work", work },
	{ "categories", categories },
	{ "bounds", bounds },
	{ "parts", parts },
	{ 0 },
};

uint32_t tide__training_part_color(tide_training_part p)
{
	return parts[p].rgb;
}
