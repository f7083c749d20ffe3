// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Virtual CUDA devices, for `tidemark predict -- PROGRAM` on a machine without a GPU.
 *
 * Built against the user's torch (a build without CUDA) by python/hook/tidemark_build.py and loaded
 * before torch: it registers a device guard and CUDA's hooks, so that torch sees the devices. They
 * have no memory and run no kernels: their tensors are fake (tidemark_predict.py). */
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/FakeGuardImpl.h>

#include <optional>
#include <string>

namespace c10::impl
{
C10_REGISTER_GUARD_IMPL(CUDA, FakeGuardImpl<DeviceType::CUDA>)
}

namespace
{

using Guard = c10::impl::FakeGuardImpl<c10::DeviceType::CUDA>;
int devices = 1;

struct CUDAHooks : at::CUDAHooksInterface { // torch looks for it under this name
	explicit CUDAHooks(at::CUDAHooksArgs)
	{
	}
	void init() const override
	{
	}
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
	bool hasCUDA() const override
	{
		return true;
	}
	bool hasCUDART() const override
	{
		return true;
	}
	bool hasCuDNN() const override
	{
		return true;
	}
	bool hasCuBLASLt() const override
	{
		return true;
	}
	bool compiledWithCuDNN() const override
	{
		return true;
	}
	bool supportsDilatedConvolutionWithCuDNN() const override
	{
		return true;
	}
	bool supportsDepthwiseConvolutionWithCuDNN() const override
	{
		return true;
	}
	bool supportsBFloat16ConvolutionWithCuDNNv8() const override
	{
		return true;
	}
	bool supportsBFloat16RNNWithCuDNN() const override
	{
		return true;
	}
	long versionCuDNN() const override
	{
		return 91900;
	}
	long versionRuntimeCuDNN() const override
	{
		return 91900;
	}
	long versionCUDART() const override
	{
		return 12080;
	}
	double batchnormMinEpsilonCuDNN() const override
	{
		return 0;
	}
	std::string showConfig() const override
	{
		return "";
	}
	int getNumGPUs() const override
	{
		return devices;
	}
	c10::DeviceIndex deviceCount() const override
	{
		return (c10::DeviceIndex)devices;
	}
	c10::DeviceIndex current_device() const override
	{
		return Guard::getDeviceIndex();
	}
	c10::DeviceIndex getCurrentDevice() const override
	{
		return Guard::getDeviceIndex();
	}
	void setCurrentDevice(c10::DeviceIndex d) const override
	{
		Guard::setDeviceIndex(d);
	}
	c10::DeviceIndex exchangeDevice(c10::DeviceIndex d) const override
	{
		c10::DeviceIndex old = Guard::getDeviceIndex();
		if (d >= 0)
			Guard::setDeviceIndex(d);
		return old;
	}
	c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex d) const override
	{
		return exchangeDevice(d);
	}
	void deviceSynchronize(c10::DeviceIndex) const override
	{
	}
	bool isPinnedPtr(const void *) const override
	{
		return false;
	}
	c10::Allocator *getPinnedMemoryAllocator() const override
	{
		return c10::GetCPUAllocator();
	}
	const at::Generator &getDefaultGenerator(c10::DeviceIndex) const override
	{
		return at::detail::getDefaultCPUGenerator();
	}
	at::Generator getNewGenerator(c10::DeviceIndex) const override
	{
		return at::make_generator<at::CPUGeneratorImpl>(0);
	}
	c10::Device getDeviceFromPtr(void *) const override
	{
		return c10::Device(c10::DeviceType::CUDA, 0);
	}
};

} // namespace

namespace at
{
REGISTER_CUDA_HOOKS(CUDAHooks)
}

/* torch's own result is fixed when torch is built. Symbols of this library are found first, because
 * torch's libraries are loaded as its dependencies. */
namespace at::accelerator
{
__attribute__((visibility("default"))) std::optional<c10::DeviceType> getAccelerator(bool)
{
	return c10::DeviceType::CUDA;
}
} // namespace at::accelerator

extern "C" __attribute__((visibility("default"))) void tide_fake_devices(int n)
{
	devices = n;
}
