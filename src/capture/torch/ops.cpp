// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* PyTorch's ops, through RecordFunction: the one C++ file of the project.
 *
 * Built against the user's own torch when it is first used, and cached (python/hook/tidemark_hook.py); without a compiler
 * everything else still works. A start calls tide_op_begin, an end tide_op_end: nothing else happens, no
 * lock is taken, no GIL, no input is looked at. Shapes of what ops return are recorded only when asked for. Names of ops live as long as the process and go by their
 * address; names of user ranges are interned. -DNDEBUG must match the release build of torch. */
#include <ATen/record_function.h>

#include <atomic>
#include <memory>

extern "C" {
#include <tidemark/record.h>
}

namespace {

struct Context : at::ObserverContext {
	explicit Context(tide_op token) : op(token) {}
	tide_op op;
};

std::atomic<at::CallbackHandle> handle{0};

tide_name name_of(const at::RecordFunction &fn)
{
	bool lasting = fn.scope() == at::RecordScope::FUNCTION && fn.operator_name();
	return lasting ? tide_name_static(fn.name()) : tide_intern(fn.name());
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &fn)
{
	uint64_t seq = fn.seqNr() >= 0 ? static_cast<uint64_t>(fn.seqNr()) + 1 : 0;
	return std::make_unique<Context>(tide_op_begin_arg(name_of(fn), seq));
}

void end(const at::RecordFunction &, at::ObserverContext *context)
{
	if (context)
		tide_op_end(static_cast<Context *>(context)->op);
}

// ---- shapes, on demand: what an op returns, if its memory was just taken ----

using Fresh = bool (*)(uint64_t, tide_pool *);
std::atomic<Fresh> fresh{nullptr};

uint8_t dtype_of(c10::ScalarType type)
{
	switch (type) {
	case c10::ScalarType::Float: return TIDE_F32;
	case c10::ScalarType::Half: return TIDE_F16;
	case c10::ScalarType::BFloat16: return TIDE_BF16;
	case c10::ScalarType::Double: return TIDE_F64;
	case c10::ScalarType::Char: return TIDE_I8;
	case c10::ScalarType::Short: return TIDE_I16;
	case c10::ScalarType::Int: return TIDE_I32;
	case c10::ScalarType::Long: return TIDE_I64;
	case c10::ScalarType::Byte: return TIDE_U8;
	case c10::ScalarType::Bool: return TIDE_BOOL;
	case c10::ScalarType::ComplexFloat: return TIDE_C64;
	case c10::ScalarType::ComplexDouble: return TIDE_C128;
	default: return 0;
	}
}

void describe(const at::Tensor &t)
{
	tide_pool pool;
	if (!t.defined() || !t.has_storage() || t.dim() > 16)
		return;
	auto addr = reinterpret_cast<uint64_t>(t.storage().data());
	if (!fresh.load(std::memory_order_relaxed)(addr, &pool))
		return;
	uint64_t shape[16];
	for (int64_t i = 0; i < t.dim(); i++)
		shape[i] = static_cast<uint64_t>(t.size(i));
	tide_tensor_info info = { 0, dtype_of(t.scalar_type()), 0, static_cast<uint8_t>(t.requires_grad()),
				  static_cast<uint8_t>(t.dim()), shape };
	tide_tensor(pool, addr, &info);
}

void end_with_shapes(const at::RecordFunction &fn, at::ObserverContext *context)
{
	try { // a tensor without a shape of numbers (symbolic, nested) says so by throwing
		for (const c10::IValue &v : fn.outputs()) {
			if (v.isTensor())
				describe(v.toTensor());
			else if (v.isTensorList())
				for (const at::Tensor &t : v.toTensorVector())
					describe(t);
		}
	} catch (...) {
	}
	end(fn, context);
}

at::RecordFunctionCallback scoped(at::RecordFunctionCallback callback)
{
	return callback.scopes({ at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE });
}

} // namespace

extern "C" TIDE_API void tide_torch_ops_on(void)
{
	if (handle.load())
		return;
	handle.store(at::addGlobalCallback(scoped(at::RecordFunctionCallback(&begin, &end))));
}

/* The same with the shapes of what ops return; `is_fresh` is tide_torch_fresh (capture/torch/hooks.h). */
extern "C" TIDE_API void tide_torch_ops_shapes_on(bool (*is_fresh)(uint64_t, tide_pool *))
{
	if (handle.load())
		return;
	fresh.store(is_fresh);
	handle.store(at::addGlobalCallback(scoped(at::RecordFunctionCallback(&begin, &end_with_shapes).needsOutputs(true))));
}

extern "C" TIDE_API void tide_torch_ops_off(void)
{
	at::CallbackHandle h = handle.exchange(0);
	if (h)
		at::removeCallback(h);
}
