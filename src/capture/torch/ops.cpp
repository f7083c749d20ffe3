// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* PyTorch's ops, through RecordFunction: the one C++ file of the project.
 *
 * Built against the user's own torch when it is first used, and cached (python/hook/tidemark_hook.py); without a compiler
 * everything else still works. A start calls tide_op_begin, an end tide_op_end: nothing else happens, no
 * lock is taken, no GIL, no input is looked at. Names of ops live as long as the process and go by their
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

} // namespace

extern "C" TIDE_API void tide_torch_ops_on(void)
{
	if (handle.load())
		return;
	handle.store(at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end)
						   .scopes({ at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
							     at::RecordScope::USER_SCOPE })));
}

extern "C" TIDE_API void tide_torch_ops_off(void)
{
	at::CallbackHandle h = handle.exchange(0);
	if (h)
		at::removeCallback(h);
}
