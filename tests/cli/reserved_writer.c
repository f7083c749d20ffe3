// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* reserved_writer FILE: records, through the API, a GPU whose allocator reports its total in a
 * counter, one that reports none, and the host; a failed request; a checkpoint after each change of
 * the total.
 */
#include <stdint.h>
#include <time.h>

#include <tidemark/record.h>

#define MiB ((uint64_t)1 << 20)

/* Changes the counter at a later time than all before: two events may have the same nanosecond. */
static void set(tide_name total, int mib)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
	tide_counter(total, (double)mib * MiB);
	nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 2 || tide_start(argv[1], NULL, NULL) != TIDE_OK)
		return 2;
	tide_device gpu = tide_device_open(TIDE_DEVICE_CUDA, 0, "a GPU", 1024 * MiB);
	tide_pool dram = tide_pool_open(gpu, TIDE_POOL_DRAM, "DRAM", 0);
	tide_pool other = tide_pool_open(tide_device_open(TIDE_DEVICE_CUDA, 1, NULL, 0),
					 TIDE_POOL_DRAM, "DRAM", 0);
	tide_pool heap = tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, NULL, 0),
					TIDE_POOL_HEAP, "heap", 0);
	tide_name total = tide_intern("torch.reserved_bytes.cuda:0");
	tide_alloc(heap, 0x1000, 3 * MiB, 0);
	tide_alloc(other, 0x1000, 2 * MiB, 0);
	tide_mark(TIDE_CHECKPOINT, TIDE_NAME("none"), 0);
	set(total, 20);
	tide_alloc(dram, 0x1000000, 16 * MiB, 0);
	tide_mark(TIDE_CHECKPOINT, TIDE_NAME("first"), 0);
	set(total, 52);
	tide_alloc(dram, 0x3000000, 30 * MiB, 0);
	tide_mark(TIDE_CHECKPOINT, TIDE_NAME("peak"), 0);
	tide_free(dram, 0x3000000);
	set(total, 20);
	tide_oom(dram, 4096 * MiB, -1);
	tide_mark(TIDE_CHECKPOINT, TIDE_NAME("last"), 0);
	return tide_stop(NULL) != TIDE_OK;
}
