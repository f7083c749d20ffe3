// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A device of our own for PyTorch, as makers of accelerators register theirs (PrivateUse1): two devices with two streams each
 * whose memory is the host's, an allocator that rounds up to 256 bytes, takes segments of 1 MiB,
 * runs out at 64 MiB, and reports to the function that tell_by() sets (device_tell.c: c10, as the
 * caching allocators do), else to none. Ops other than allocations and copies run on the CPU. For
 * test_device.py and test_silent.py; device.py builds it. */
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace
{

constexpr auto TYPE = c10::DeviceType::PrivateUse1;
enum { DEVICES = 2, ROUND = 256, SEGMENT = 1 << 20, CAPACITY = 64 << 20 };
thread_local c10::DeviceIndex current = 0;
thread_local c10::StreamId streams[DEVICES] = {};

// ---- memory ----

void (*tell)(void *, int64_t, size_t, size_t, unsigned) = nullptr;
void (*tell_oom)(int64_t, size_t, size_t, unsigned) = nullptr;

unsigned number(c10::Device d)
{
	return static_cast<uint8_t>(d.type()) |
	       static_cast<unsigned>(static_cast<uint8_t>(d.index())) << 8;
}

struct Allocator final : c10::DeviceAllocator {
	std::mutex lock;
	std::unordered_map<void *, std::pair<c10::DeviceIndex, size_t>> live;
	int64_t allocated[DEVICES] = {}, reserved[DEVICES] = {}, peak[DEVICES] = {};

	static size_t segments(int64_t bytes)
	{
		return (static_cast<size_t>(bytes) + SEGMENT - 1) / SEGMENT * SEGMENT;
	}

	c10::DataPtr allocate(size_t n) override
	{
		c10::Device device(TYPE, current);
		void *p = n ? take((n + ROUND - 1) / ROUND * ROUND, device) : nullptr;
		return { p, p, &give, device };
	}
	void *take(size_t n, c10::Device device)
	{
		std::lock_guard<std::mutex> guard(lock);
		int64_t &all = allocated[device.index()];
		if (all + n > CAPACITY) {
			if (tell_oom)
				tell_oom(n, all, reserved[device.index()], number(device));
			TORCH_CHECK(false, "out of memory");
		}
		void *p = std::aligned_alloc(ROUND, n);
		live[p] = { device.index(), n };
		all += n;
		peak[device.index()] = std::max(peak[device.index()], all);
		reserved[device.index()] =
			std::max<int64_t>(reserved[device.index()], segments(all));
		if (tell)
			tell(p, n, all, reserved[device.index()], number(device));
		return p;
	}
	static void give(void *p);
	c10::DeleterFnPtr raw_deleter() const override
	{
		return &give;
	}
	void copy_data(void *to, const void *from, std::size_t n) const override
	{
		std::memcpy(to, from, n);
	}

	bool initialized() override
	{
		return true;
	}
	void emptyCache(c10::MempoolId_t) override
	{
		std::lock_guard<std::mutex> guard(lock);
		for (int i = 0; i < DEVICES; i++)
			reserved[i] = segments(allocated[i]);
	}
	void recordStream(const c10::DataPtr &, c10::Stream) override
	{
	}
	c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex i) override
	{
		std::lock_guard<std::mutex> guard(lock);
		c10::CachingDeviceAllocator::DeviceStats s;
		s.allocated_bytes[0].current = allocated[i];
		s.allocated_bytes[0].peak = peak[i];
		s.reserved_bytes[0].current = reserved[i];
		return s;
	}
	void resetAccumulatedStats(c10::DeviceIndex) override
	{
	}
	void resetPeakStats(c10::DeviceIndex i) override
	{
		std::lock_guard<std::mutex> guard(lock);
		peak[i] = allocated[i];
	}
};
Allocator allocator;
REGISTER_ALLOCATOR(TYPE, &allocator)

void Allocator::give(void *p)
{
	if (!p)
		return;
	std::lock_guard<std::mutex> guard(allocator.lock);
	auto at = allocator.live.find(p);
	auto [device, n] = at->second;
	allocator.live.erase(at);
	allocator.allocated[device] -= n;
	if (tell)
		tell(p, -static_cast<int64_t>(n), allocator.allocated[device],
		     allocator.reserved[device], number(c10::Device(TYPE, device)));
	std::free(p);
}

// ---- the device ----

struct Guard final : c10::impl::DeviceGuardImplInterface {
	c10::DeviceType type() const override
	{
		return TYPE;
	}
	c10::Device exchangeDevice(c10::Device d) const override
	{
		c10::Device old = getDevice();
		current = d.index();
		return old;
	}
	c10::Device getDevice() const override
	{
		return { TYPE, current };
	}
	void setDevice(c10::Device d) const override
	{
		current = d.index();
	}
	void uncheckedSetDevice(c10::Device d) const noexcept override
	{
		current = d.index();
	}
	c10::Stream getStream(c10::Device d) const override
	{
		return c10::Stream(c10::Stream::UNSAFE, d, streams[d.index()]);
	}
	c10::Stream exchangeStream(c10::Stream s) const override
	{
		c10::Stream old = getStream(s.device());
		streams[s.device_index()] = s.id();
		return old;
	}
	c10::DeviceIndex deviceCount() const noexcept override
	{
		return DEVICES;
	}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
	bool isBuilt() const override
	{
		return true;
	}
	bool isAvailable() const override
	{
		return true;
	}
	bool hasPrimaryContext(c10::DeviceIndex) const override
	{
		return true;
	}
	c10::DeviceIndex deviceCount() const override
	{
		return DEVICES;
	}
	c10::DeviceIndex getCurrentDevice() const override
	{
		return current;
	}
	void setCurrentDevice(c10::DeviceIndex i) const override
	{
		current = i;
	}
};

// ---- ops ----

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
		 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>,
		 std::optional<at::MemoryFormat> format)
{
	c10::OptionalDeviceGuard on(device && device->has_index() ? device : std::nullopt);
	return at::detail::empty_generic(size, &allocator,
					 c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
					 c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride,
			 std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
			 std::optional<at::Device> device, std::optional<bool>)
{
	c10::OptionalDeviceGuard on(device && device->has_index() ? device : std::nullopt);
	return at::detail::empty_strided_generic(size, stride, &allocator,
						 c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
						 c10::dtype_or_default(dtype));
}

/* The same memory as a tensor of the CPU. */
at::Tensor host(const at::Tensor &t)
{
	return t.is_cpu() ? t
			  : at::from_blob(t.data_ptr(), t.sizes(), t.strides(),
					  t.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool)
{
	host(to).copy_(host(from));
	return to;
}

void on_the_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
	m.impl("empty.memory_format", &empty);
	m.impl("empty_strided", &empty_strided);
	m.impl("as_strided", &at::native::as_strided_tensorimpl);
	m.impl("view", &at::native::view);
	m.impl("_copy_from", &copy_from);
	m.impl("_copy_from_and_resize", [](const at::Tensor &from, const at::Tensor &to) {
		return copy_from(from, to, false);
	});
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
	m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_the_cpu>());
}

bool hooked = (at::RegisterPrivateUse1HooksInterface(new Hooks), true);

} // namespace

extern "C" __attribute__((visibility("default"))) void use_stream(int device, int stream)
{
	streams[device] = stream;
}

extern "C" __attribute__((visibility("default"))) void tell_by(decltype(tell) usage,
							       decltype(tell_oom) oom)
{
	tell = usage;
	tell_oom = oom;
}
