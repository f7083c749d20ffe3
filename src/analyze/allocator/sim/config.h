// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Settings of the simulated CUDA caching allocator, with PyTorch's names, and the sizes that
 * follow from them. docs/analyses/whatif.md defines each rule. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_CONFIG_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

#define TIDE_SIM_MIN_BLOCK    512u	      /* every block is a multiple of it */
#define TIDE_SIM_SMALL_MAX    (1024u * 1024)  /* largest request of the small pool */
#define TIDE_SIM_SMALL_SEG    (2048u * 1024)  /* segment and page of the small pool */
#define TIDE_SIM_LARGE_SEG    (20480u * 1024) /* default of large_segment_size_mb */
#define TIDE_SIM_LARGE_MIN    (10240u * 1024) /* from here a segment fits its request */
#define TIDE_SIM_LARGE_ROUND  (2048u * 1024)  /* ... rounded up to this */
#define TIDE_SIM_NO_SPLIT_MAX UINT64_MAX
#define TIDE_SIM_CLASSES      16 /* sizes of roundup_power2_divisions: 1 MiB .. 32 GiB */

typedef struct tide_sim_config {
	uint64_t large_segment;	 /* bytes of a segment for requests below 10 MiB; large page */
	uint64_t max_split_size; /* bytes; TIDE_SIM_NO_SPLIT_MAX = no limit */
	uint64_t max_non_split_rounding;    /* bytes of slack an unsplit block may have */
	uint32_t roundup[TIDE_SIM_CLASSES]; /* divisions per power of two; 0 = round to 512 only */
	double gc_threshold;		    /* of `allowed`; 0 = off */
	uint64_t allowed;  /* bytes allowed by set_per_process_memory_fraction; 0 = not set */
	uint64_t capacity; /* bytes of the device; 0 = unlimited */
	bool expandable;   /* expandable_segments */
} tide_sim_config;

/* Returns PyTorch's defaults on a device with unlimited memory. */
tide_sim_config tide__sim_defaults(void);

/* Parses a PYTORCH_CUDA_ALLOC_CONF text: "expandable_segments:True,max_split_size_mb:128".
 * Returns TIDE_EUSAGE with a sentence for a setting that the simulator lacks or a value that
 * PyTorch would refuse; the config is then unchanged. */
tide_code tide__sim_parse(tide_sim_config *c, const char *text, tide_error *err);

/* Writes the settings that differ from the defaults in PYTORCH_CUDA_ALLOC_CONF syntax; "default"
 * if none. */
void tide__sim_describe(const tide_sim_config *c, char *buf, size_t n);

/* Returns true if the settings are equal, ignoring the device. */
bool tide__sim_config_equals(const tide_sim_config *a, const tide_sim_config *b);

/* Returns the bytes a request is rounded to; UINT64_MAX on overflow. */
uint64_t tide__sim_round(const tide_sim_config *c, uint64_t size);
/* Returns the size of the segment created for a rounded size that no free block serves. */
uint64_t tide__sim_segment(const tide_sim_config *c, uint64_t rounded);
/* Versions of PyTorch that the simulator was compared with, for texts. */
#define TIDE_SIM_CHECKED "2.11 on an H200, settings also against 2.13"

#endif
