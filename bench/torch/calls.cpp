// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Measures what a callback adds to a call, in ns: one op in a loop, without Python.
 * bench/torch/live.py builds and calls it. */
#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <vector>

#define BENCH extern "C" __attribute__((visibility("default")))

namespace
{

template <typename Work> double ns_a_call(int n, Work work)
{
	auto start = std::chrono::steady_clock::now();
	for (int i = 0; i < n; i++)
		work();
	std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
	return took.count() / n;
}

/* Empties the caches as a training step does: 60 KiB of code that does nothing, and a cache line in
 * each of 4,096 pages. */
__attribute__((noinline)) void forget()
{
	enum { PAGES = 4096, PAGE = 4096, LINE = 64 };
	static std::vector<char> pages(PAGES * PAGE, 1);
	for (size_t i = 0; i < PAGES; i++)
		*static_cast<volatile char *>(&pages[i * PAGE + i * LINE % PAGE]);
	__asm__ volatile(".rept 61440\n\tnop\n\t.endr");
}

at::Tensor &four(int cuda)
{
	static at::Tensor x[2];
	if (!x[cuda].defined())
		x[cuda] = at::ones({ 4 }, cuda ? at::kCUDA : at::kCPU);
	return x[cuda];
}

template <typename Each> void ten(const at::Tensor &x, Each each)
{
	each([&] { x.view({ 4 }); });
	each([&] { x.unsqueeze(0); });
	each([&] { x.expand({ 4 }); });
	each([&] { x.as_strided({ 2 }, { 1 }); });
	each([&] { x.detach(); });
	each([&] { x.permute({ 0 }); });
	each([&] { x.squeeze(); });
	each([&] { x.alias(); });
	each([&] { x.select(0, 1); });
	each([&] { x.slice(0, 1, 2); });
}

} // namespace

/* A view: an op without an allocation. */
BENCH double bench_view(int n, int cuda)
{
	at::Tensor &x = four(cuda);
	return ns_a_call(n, [&] { x.view({ 4 }); });
}

/* Ten alternating kinds of ops, some of which call others, so that the addresses of one op's code
 * and name matter less. */
BENCH double bench_ten(int n, int cuda)
{
	return ns_a_call(n, [&] { ten(four(cuda), [](auto op) { op(); }); });
}

/* The same with cold caches: medians of the ops alone (and two clock reads each). */
BENCH double bench_cold(int n, int cuda)
{
	double sum = 0;
	ten(four(cuda), [&](auto op) {
		std::vector<double> took;
		for (int i = 0; i < n; i++) {
			forget();
			took.push_back(ns_a_call(1, op));
		}
		std::nth_element(took.begin(), took.begin() + n / 2, took.end());
		sum += took[static_cast<size_t>(n / 2)];
	});
	return sum;
}

/* An op, an allocation, its free. */
BENCH double bench_empty(int n, int cuda)
{
	auto options = at::TensorOptions().device(cuda ? at::kCUDA : at::kCPU);
	return ns_a_call(n, [&] { at::empty({ 16 }, options); });
}
