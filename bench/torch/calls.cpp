// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One op in a loop, without Python around it: what a callback adds to a call, in ns. bench/torch/live.py builds and calls it. */
#include <ATen/ATen.h>

#include <chrono>

#define BENCH extern "C" __attribute__((visibility("default")))

namespace {

template <typename Work>
double ns_a_call(int n, Work work)
{
	auto start = std::chrono::steady_clock::now();
	for (int i = 0; i < n; i++)
		work();
	std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
	return took.count() / n;
}

} // namespace

/* A view: an op and nothing else. */
BENCH double bench_view(int n, int cuda)
{
	static at::Tensor x[2];
	if (!x[cuda].defined())
		x[cuda] = at::ones({ 4 }, cuda ? at::kCUDA : at::kCPU);
	return ns_a_call(n, [&] { x[cuda].view({ 4 }); });
}

/* An op, an allocation, its free. */
BENCH double bench_empty(int n, int cuda)
{
	auto options = at::TensorOptions().device(cuda ? at::kCUDA : at::kCPU);
	return ns_a_call(n, [&] { at::empty({ 16 }, options); });
}
