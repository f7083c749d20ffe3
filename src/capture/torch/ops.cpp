// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* PyTorch's ops, through RecordFunction, and its tensors' labels: the one C++ file of the project.
 *
 * Built against the user's own torch when it is first used, and cached
 * (python/hook/tidemark_hook.py); without a compiler everything else still works. A start and an
 * end of an op are stored in line (tidemark/detail/quick.h): it takes no lock and not the GIL, and
 * reads no input. Shapes of results and Python stacks are recorded only on request. Each thread
 * requests the id of a name from the recorder once. Every op carries its autograd sequence number
 * and thread, so that a reader joins backward to forward. -DNDEBUG must match the release build of
 * torch. */
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include <tidemark/detail/quick.h>

namespace
{

/* Functions of libtidemark-torch (capture/torch/hooks.h, devices.h, stacks.h, start.h); it is
 * not linked, because it may have been loaded privately. */
struct Host {
	bool (*fresh)(uint64_t, uint32_t, bool, tide_pool *);
	tide_pool (*pool)(unsigned, unsigned);
	tide_stack (*stack)(const void *);
	void (*stack_end)(const void *);
	void (*streams_by)(bool (*)(unsigned, unsigned, int64_t *));
	void (*describes)(bool);
	void (*begins)();
} host;

#define INLINE inline __attribute__((always_inline))
/* Few cache lines, ten per op, in one page: in a busy program none of them is cached. They
 * follow each other in the order in which they are written; the first is aligned to more than
 * their total size. */
#if defined(__clang__)
#define IN_ORDER
#else
#define IN_ORDER __attribute__((no_reorder))
#endif
#define HOT	  IN_ORDER __attribute__((hot, aligned(64)))
#define HOT_FIRST IN_ORDER __attribute__((hot, aligned(1024)))
#define COLD	  __attribute__((noinline, cold))
enum { SHAPES = 1, STACKS = 2, EMPTY = 4, USES = 8 };

// ---- names of ops, cached per thread beside its recording state ----

/* Names of ops by the address of their schema, which is stable until the dispatcher reports that
 * the op is removed; the schema itself is not read. The table has few lines, which are used
 * often enough to stay cached; one line per name would be far away each time. Names that come as
 * a text, made for the call (backward functions, ranges), are found by content. Nothing here
 * throws, so a program without free memory is not disturbed. */
enum { ROWS = 64, SETS = 64, WAYS = 4, TEXT = 120 };
struct alignas(64) Row {
	enum { N = 8, ID_BITS = 16 };
	std::atomic<uint64_t> at[N]; // schema << ID_BITS | name; 0 = free

	static INLINE bool is(uint64_t entry, const void *schema)
	{
		return entry >> ID_BITS == reinterpret_cast<uintptr_t>(schema);
	}
	static INLINE tide_name name(uint64_t entry)
	{
		return static_cast<uint16_t>(entry);
	}
};
struct alignas(64) Said {
	tide_name name = 0;
	uint32_t n = 0;
	char text[TEXT] = {};
};
uint64_t hash_of(std::string_view s) // words at a time: names are short and many
{
	uint64_t h = s.size(), word = 0;
	for (; s.size() >= sizeof word; s.remove_prefix(sizeof word)) {
		std::memcpy(&word, s.data(), sizeof word);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	for (char c : s)
		h = (h ^ static_cast<unsigned char>(c)) * UINT64_C(0x100000001b3);
	return h ^ h >> 32;
}
/* Storages that the open op of the dispatcher and the ops inside it have read or written. */
struct Used {
	enum { N = 64 };
	struct {
		uint64_t addr;
		tide_pool pool;
	} at[N];
	unsigned n = 0;
	unsigned depth = 0;  // open ops of the dispatcher
	int32_t device = -1; // type << 8 | index of the last tensor, and its pool
	tide_pool pool = 0;
};
struct Names {
	Used used;
	Row rows[ROWS] = {};
	Said said[SETS][WAYS];
	unsigned turn = 0; // entry to replace next if all 4 of a set are used
	Names *next = nullptr;

	static uint64_t hash(const void *schema)
	{
		return reinterpret_cast<uintptr_t>(schema) * UINT64_C(0x9e3779b97f4a7c15);
	}
	Row &row(const void *schema)
	{
		return rows[hash(schema) >> 58];
	}
	/* Column of a schema in its row if there is no collision. */
	static unsigned column(const void *schema)
	{
		return hash(schema) >> 55 & (Row::N - 1);
	}
	INLINE std::atomic<uint64_t> &place(const void *schema)
	{
		return row(schema).at[column(schema)];
	}
};
std::atomic<Names *> every{ nullptr }; // list of all tables: lock-free, since a fork could leave a
				       // lock held

/* Returns a thread's names, which stay with its descriptor in the recorder and serve its next
 * thread. NULL if memory runs out. */
INLINE Names *names_of(const tide_quick *t)
{
	return static_cast<Names *>(t->kept);
}

Names *make_names(tide_quick *t)
{
	auto n = new (std::nothrow) Names;
	t->kept = n;
	if (!n)
		return nullptr;
	n->next = every.load();
	while (!every.compare_exchange_weak(n->next, n)) {
	}
	return n;
}

/* Returns the name if the entry holds `schema`, else 0. */
INLINE tide_name named(const std::atomic<uint64_t> &entry, const void *schema)
{
	uint64_t e = entry.load(std::memory_order_relaxed);
	return Row::is(e, schema) ? Row::name(e) : 0;
}

/* The dispatcher reports the removal of an op before it frees its schema. No op is called during
 * removal. */
struct Listener : c10::OpRegistrationListener {
	void onOperatorRegistered(const c10::OperatorHandle &) override
	{
	}
	void onOperatorDeregistered(const c10::OperatorHandle &op) override
	{
		for (Names *n = every.load(); n; n = n->next)
			for (auto &entry : n->row(&op.schema()).at)
				if (named(entry, &op.schema()))
					entry.store(0, std::memory_order_relaxed);
	}
};

/* Longer names are looked up in the recorder each time. */
COLD tide_name learn(Names &names, Said *set, std::string_view text)
{
	tide_name name = tide_intern(text.data());
	if (!name || text.size() > TEXT)
		return name;
	unsigned i = 0;
	while (i < WAYS && set[i].name)
		i++;
	Said &s = set[i < WAYS ? i : names.turn++ % WAYS];
	s.name = name;
	s.n = static_cast<uint32_t>(text.size());
	std::memcpy(s.text, text.data(), s.n);
	return name;
}

__attribute__((hot)) tide_name by_text(Names &names, const char *said)
{
	std::string_view text(said);
	Said *set = names.said[hash_of(text) % SETS];
	for (unsigned i = 0; i < WAYS; i++)
		if (set[i].n == text.size() && set[i].name &&
		    !std::memcmp(set[i].text, said, set[i].n))
			return set[i].name;
	return learn(names, set, text);
}

/* The schema of a RecordFunction, if this torch has the known layout (checked by
 * tidemark_build.py): asking for the name would cost a call and a read of the distant schema. */
#ifdef TIDE_SCHEMA_IN_FN
template <typename Tag, auto member>
struct Peek { // an explicit instantiation may name private members
	friend constexpr auto peek(Tag)
	{
		return member;
	}
};
struct Fn {
	friend constexpr auto peek(Fn);
};
template struct Peek<Fn, &at::RecordFunction::fn_>;

INLINE const void *schema_of(const at::RecordFunction &fn)
{
	auto *schema = std::get_if<at::RecordFunction::schema_ref_t>(&(fn.*peek(Fn{})));
	return schema ? &schema->get() : nullptr;
}
#else
INLINE const void *schema_of(const at::RecordFunction &)
{
	return nullptr;
}
#endif

/* Returns true if the schema belongs to an op of the dispatcher. Asking needs memory, which may
 * be exhausted. */
bool registered(const at::RecordFunction &fn, const void *schema)
{
	try {
		auto name = fn.operator_name();
		if (!name)
			return false;
		auto op = c10::Dispatcher::singleton().findSchema(*name);
		return op && &op->schema() == schema;
	} catch (...) {
		return false;
	}
}

/* Stores a name in its own entry if that is free or its row is full, else anywhere in the row. */
void keep(Names &names, const void *schema, tide_name name)
{
	Row &row = names.row(schema);
	auto at = reinterpret_cast<uintptr_t>(schema);
	unsigned column = Names::column(schema), i = 0;
	if (!name || name >> Row::ID_BITS || at >> (64 - Row::ID_BITS))
		return;
	while (i < Row::N && row.at[(column + i) % Row::N].load(std::memory_order_relaxed))
		i++;
	row.at[(column + i) % Row::N].store(static_cast<uint64_t>(at) << Row::ID_BITS | name,
					    std::memory_order_relaxed);
}

/* Handles the first use of a name, or the first use since its entry was replaced. The schema of an
 * unregistered op may be freed without notice. */
COLD tide_name by_schema(Names &names, const void *schema, const at::RecordFunction &fn)
{
	tide_name name = by_text(names, fn.name());
	if (registered(fn, schema))
		keep(names, schema, name);
	return name;
}

/* Finds a name elsewhere in its row; 0 if it is absent. */
INLINE tide_name name_of(Names &names, const at::RecordFunction &fn)
{
	const void *schema = schema_of(fn);
	if (!schema)
		return by_text(names, fn.name());
	for (auto &entry : names.row(schema).at)
		if (tide_name name = named(entry, schema))
			return name;
	return by_schema(names, schema, fn);
}

// ---- begin and end ----

/* Owner of the op's number: its own thread, or for a backward op the forward's. Branch-free,
 * because the branch would be unpredictable. */
INLINE uint32_t origin_of(const at::RecordFunction &fn)
{
	uint64_t backward = fn.scope() == at::RecordScope::BACKWARD_FUNCTION;
	uint64_t thread = fn.threadId() ^ ((fn.threadId() ^ fn.forwardThreadId()) & -backward);
	return static_cast<uint32_t>(thread << 1 | backward);
}

INLINE uint64_t number_of(const at::RecordFunction &fn)
{
	return static_cast<uint64_t>(fn.seqNr()) + 1; // 0: it has none
}

/* No context is kept: an op is identified by the address of its RecordFunction, which does not
 * move. */
template <bool stacks>
INLINE void store(tide_quick *t, const at::RecordFunction &fn, tide_name name)
{
	tide__begin(t, &fn, name, number_of(fn), stacks ? host.stack(&fn) : 0, origin_of(fn));
}

using Context = std::unique_ptr<at::ObserverContext>; // none

/* Handles a thread's first op, or missing memory for names. Under `tidemark run` the first op
 * starts the recording, which includes the op and its allocations. */
template <bool stacks> COLD Context begun_first(const at::RecordFunction &fn)
{
	host.begins();
	tide_quick *t = tide__self;
	Names *names = t && !t->kept ? make_names(t) : nullptr;
	tide_name name = names ? name_of(*names, fn) : tide_intern(fn.name());
	tide__begin_long(&fn, name, number_of(fn), stacks ? host.stack(&fn) : 0, origin_of(fn));
	return nullptr;
}

template <bool stacks> INLINE Context begun_otherwise(const at::RecordFunction &fn)
{
	tide_quick *t = tide__self;
	if (!TIDE_LIKELY(t && t->kept))
		return begun_first<stacks>(fn);
	store<stacks>(t, fn, name_of(*names_of(t), fn));
	return nullptr;
}

/* The usual case: an op of the dispatcher whose name is in its own entry. These cache lines hold
 * only this case. */
template <bool stacks>
INLINE Context begun(const at::RecordFunction &fn, Context (*otherwise)(const at::RecordFunction &))
{
	const void *schema = schema_of(fn);
	tide_quick *t = tide__self;
	if (TIDE_LIKELY(schema && t && t->kept)) {
		uint64_t entry = names_of(t)->place(schema).load(std::memory_order_relaxed);
		if (TIDE_LIKELY(Row::is(entry, schema))) {
			store<stacks>(t, fn, Row::name(entry));
			return nullptr;
		}
	}
	return otherwise(fn);
}

Context begin_otherwise(const at::RecordFunction &fn);
Context begin_otherwise_with_stack(const at::RecordFunction &fn);

HOT_FIRST Context begin(const at::RecordFunction &fn)
{
	return begun<false>(fn, begin_otherwise);
}

HOT void end(const at::RecordFunction &fn, at::ObserverContext *)
{
	tide__end(&fn);
}

HOT __attribute__((noinline)) Context begin_otherwise(const at::RecordFunction &fn)
{
	return begun_otherwise<false>(fn);
}

HOT Context begin_with_stack(const at::RecordFunction &fn)
{
	return begun<true>(fn, begin_otherwise_with_stack);
}

HOT void end_with_stack(const at::RecordFunction &fn, at::ObserverContext *)
{
	host.stack_end(&fn);
	tide__end(&fn);
}

HOT __attribute__((noinline)) Context begin_otherwise_with_stack(const at::RecordFunction &fn)
{
	return begun_otherwise<true>(fn);
}

// ---- uses: the storages of an op's inputs, one slot for each at the op's end ----

/* Stores them where the outermost op ends: a `del` can free a storage from there on, and temporaries
 * of the op are gone. */
void store_uses(Used &u)
{
	for (unsigned i = 0; i < u.n; i++)
		if (!TIDE_LIKELY(
			    tide__quick_event(TIDE_SLOT_USE, u.at[i].pool, u.at[i].addr, 0, 0)))
			tide_use(u.at[i].pool, u.at[i].addr);
	u.n = 0;
}

INLINE void use(Used &u, const at::Tensor &t)
{
	if (!t.defined() || !t.has_storage())
		return;
	auto addr = reinterpret_cast<uint64_t>(t.unsafeGetTensorImpl()->unsafe_storage().data());
	if (!addr)
		return;
	for (unsigned i = 0; i < u.n; i++)
		if (u.at[i].addr == addr)
			return;
	int32_t device = static_cast<int32_t>(t.device().type()) << 8 |
			 (static_cast<uint8_t>(t.device().index()));
	if (device != u.device) {
		u.pool = host.pool(static_cast<unsigned>(device >> 8),
				   static_cast<unsigned>(device & 255));
		u.device = device;
	}
	if (!u.pool)
		return;
	if (u.n == Used::N) // an op that runs many others, or has long lists
		store_uses(u);
	u.at[u.n++] = { addr, u.pool };
}

void use_list(Used &u, c10::ArrayRef<c10::IValue> list)
{
	for (const c10::IValue &v : list) {
		if (v.isTensor())
			use(u, v.toTensor());
		else if (!v.isNone()) // a list of numbers
			return;
	}
}

/* Notes the inputs. The begin of an op is the only moment at which torch has them. */
void note_uses(const at::RecordFunction &fn)
{
	tide_quick *t = tide__self;
	if (!t || !t->kept)
		return;
	Used &u = names_of(t)->used;
	u.depth++;
	try { // a tensor of another kind may have no address
		for (const c10::IValue &v : fn.inputs()) {
			if (v.isTensor())
				use(u, v.toTensor());
			else if (v.isList())
				use_list(u, v.toListRef());
		}
	} catch (...) {
	}
}

/* Returns true for an op of the dispatcher. A range, a backward function and a function of Python
 * run ops that are. */
INLINE bool is_dispatched(const at::RecordFunction &fn)
{
#ifdef TIDE_SCHEMA_IN_FN
	return fn.scope() == at::RecordScope::FUNCTION && schema_of(fn);
#else
	return fn.scope() == at::RecordScope::FUNCTION;
#endif
}

template <bool stacks> Context begin_using(const at::RecordFunction &fn)
{
	Context none = (stacks ? begin_with_stack : begin)(fn);
	if (is_dispatched(fn))
		note_uses(fn);
	return none;
}

INLINE void end_uses(const at::RecordFunction &fn)
{
	tide_quick *t = tide__self;
	if (!is_dispatched(fn) || !t || !t->kept)
		return;
	Used &u = names_of(t)->used;
	if (u.depth && !--u.depth)
		store_uses(u);
}

// ---- shapes, on request: results of an op whose memory was just allocated ----

uint8_t dtype_of(c10::ScalarType type)
{
	switch (type) {
	case c10::ScalarType::Float:
		return TIDE_DTYPE_F32;
	case c10::ScalarType::Half:
		return TIDE_DTYPE_F16;
	case c10::ScalarType::BFloat16:
		return TIDE_DTYPE_BF16;
	case c10::ScalarType::Double:
		return TIDE_DTYPE_F64;
	case c10::ScalarType::Char:
		return TIDE_DTYPE_I8;
	case c10::ScalarType::Short:
		return TIDE_DTYPE_I16;
	case c10::ScalarType::Int:
		return TIDE_DTYPE_I32;
	case c10::ScalarType::Long:
		return TIDE_DTYPE_I64;
	case c10::ScalarType::Byte:
		return TIDE_DTYPE_U8;
	case c10::ScalarType::Bool:
		return TIDE_DTYPE_BOOL;
	case c10::ScalarType::ComplexFloat:
		return TIDE_DTYPE_C64;
	case c10::ScalarType::ComplexDouble:
		return TIDE_DTYPE_C128;
	default:
		break;
	}
	std::string name = c10::toString(type); // newer ones by name: older headers lack them
	return name == "Float8_e4m3fn" ? TIDE_DTYPE_F8E4M3
	       : name == "Float8_e5m2" ? TIDE_DTYPE_F8E5M2
	       : name == "UInt16"      ? TIDE_DTYPE_U16
	       : name == "UInt32"      ? TIDE_DTYPE_U32
	       : name == "UInt64"      ? TIDE_DTYPE_U64
				       : 0;
}

struct Shape {
	uint64_t dims[16];
	uint32_t hash = 1;
	tide_tensor_info info{};

	explicit Shape(const at::Tensor &t)
	{
		info.dtype = dtype_of(t.scalar_type());
		info.requires_grad = t.requires_grad();
		info.ndim = static_cast<uint8_t>(t.dim());
		info.shape = dims;
		hash = info.dtype + 1u;
		for (int64_t i = 0; i < t.dim(); i++) {
			dims[i] = static_cast<uint64_t>(t.size(i));
			hash = (hash ^ static_cast<uint32_t>(dims[i])) * 0x9e3779b1u +
			       static_cast<uint32_t>(dims[i] >> 32);
		}
		hash |= 1;
	}
};

uint64_t address_of(const at::Tensor &t)
{
	bool has = t.defined() && t.has_storage() && t.dim() <= 16;
	return has ? reinterpret_cast<uint64_t>(t.storage().data()) : 0;
}

void describe(const at::Tensor &t)
{
	tide_pool pool;
	uint64_t addr = address_of(t);
	if (!addr)
		return;
	Shape shape(t);
	if (host.fresh(addr, shape.hash, shape.info.requires_grad != 0, &pool))
		tide_tensor(pool, addr, &shape.info);
}

template <bool stacks> void end_using(const at::RecordFunction &fn, at::ObserverContext *context)
{
	end_uses(fn);
	(stacks ? end_with_stack : end)(fn, context);
}

template <bool stacks, bool uses>
void end_with_shapes(const at::RecordFunction &fn, at::ObserverContext *context)
{
	try { // sizes() throws for a tensor without a numeric shape (symbolic, nested)
		for (const c10::IValue &v : fn.outputs()) {
			if (v.isTensor())
				describe(v.toTensor());
			else if (v.isTensorList())
				for (const at::Tensor &t : v.toTensorVector())
					describe(t);
		}
	} catch (...) {
	}
	if (uses)
		end_uses(fn);
	(stacks ? end_with_stack : end)(fn, context);
}

// ---- labels: tensors that Python named, and the gradients they get ----

using Impl = c10::TensorImpl;
using Strong = c10::intrusive_ptr<Impl, c10::UndefinedTensorImpl>;
using Weak = c10::weak_intrusive_ptr<Impl, c10::UndefinedTensorImpl>;

struct Label {
	Weak tensor;
	tide_name name, grad_name;
	uint8_t role;
	uint64_t owner = 0; // the optimizer that has it; 0 = none
	uint64_t addr = 0;  // address when it was last labelled
};
std::vector<Label> labels; // the GIL guards it

void say(const at::Tensor &t, uint64_t addr, tide_name name, uint8_t role)
{
	Shape shape(t);
	shape.info.name = name;
	shape.info.role = role;
	tide_pool pool = host.pool(static_cast<unsigned>(t.device().type()),
				   static_cast<unsigned>(t.device().index()) & 255u);
	if (!pool) // its device's allocations are not recorded
		return;
	uint64_t bytes = static_cast<uint64_t>(t.numel()) * t.element_size();
	if (bytes >= t.storage().nbytes())
		tide_tensor(pool, addr, &shape.info);
	else // one of several that share the storage: a bucket of gradients, flattened parameters
		tide_tensor_view(pool, addr,
				 static_cast<uint64_t>(t.storage_offset()) * t.element_size(),
				 &shape.info);
}

/* Returns false if the tensor was freed. With `grad`, also labels its gradient: only in the step
 * of its optimizer. Another thread may be creating or dropping the gradients of its own model
 * now, without the GIL. */
bool refresh(Label &l, bool grad)
{
	Strong strong = l.tensor.lock();
	if (!strong)
		return false;
	at::Tensor t(std::move(strong));
	uint64_t addr = address_of(t);
	if (addr && addr != l.addr)
		say(t, addr, l.name, l.role);
	l.addr = addr;
	if (!grad || !l.grad_name)
		return true;
	const at::Tensor &its = t.grad();
	uint64_t at = address_of(its);
	if (at) // each step's gradient is a new allocation, often at the previous address
		say(its, at, l.grad_name, TIDE_ROLE_GRADIENT);
	return true;
}

bool current_stream(unsigned type, unsigned index, int64_t *number)
{
	try {
		auto t = static_cast<c10::DeviceType>(type);
		*number = c10::impl::getDeviceGuardImpl(t)
				  ->getStream(c10::Device(t, static_cast<c10::DeviceIndex>(index)))
				  .id();
		return true;
	} catch (...) {
		return false;
	}
}

// ---- on and off ----

std::atomic<at::CallbackHandle> handle{ 0 };

Context begin_nothing(const at::RecordFunction &)
{
	return nullptr;
}
void end_nothing(const at::RecordFunction &, at::ObserverContext *)
{
}

at::RecordFunctionCallback callback(int want)
{
	if (want & EMPTY)
		return at::RecordFunctionCallback(&begin_nothing, &end_nothing);
	bool stacks = want & STACKS, uses = want & USES;
	auto start = uses ? (stacks ? &begin_using<true> : &begin_using<false>)
			  : (stacks ? &begin_with_stack : &begin);
	auto stop = uses ? (stacks ? &end_using<true> : &end_using<false>)
			 : (stacks ? &end_with_stack : &end);
	if (want & SHAPES)
		stop = uses ? (stacks ? &end_with_shapes<true, true>
				      : &end_with_shapes<false, true>)
			    : (stacks ? &end_with_shapes<true, false>
				      : &end_with_shapes<false, false>);
	return at::RecordFunctionCallback(start, stop)
		.needsInputs(uses)
		.needsOutputs(want & SHAPES);
}

} // namespace

/* The functions of libtidemark-torch; before anything else here. */
extern "C" TIDE_API void
tide_torch_ops_host(bool (*fresh)(uint64_t, uint32_t, bool, tide_pool *),
		    tide_pool (*pool)(unsigned, unsigned), tide_stack (*stack)(const void *),
		    void (*stack_end)(const void *),
		    void (*streams_by)(bool (*)(unsigned, unsigned, int64_t *)),
		    void (*describes)(bool), void (*begins)())
{
	host = { fresh, pool, stack, stack_end, streams_by, describes, begins };
}

extern "C" TIDE_API void tide_torch_ops_off(void)
{
	at::CallbackHandle h = handle.exchange(0);
	if (h)
		at::removeCallback(h);
	if (!host.streams_by)
		return;
	host.streams_by(nullptr);
	host.describes(false);
}

/* Turns op recording on. want: 1 shapes of results, 2 Python stacks, 4 an empty callback instead
 * (for comparison), 8 uses of storages. */
extern "C" TIDE_API void tide_torch_ops_on(int want)
{
	static c10::RegistrationHandleRAII told =
		c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Listener>());
	tide_torch_ops_off();
	host.describes(want & SHAPES);
	handle.store(at::addGlobalCallback(callback(want).scopes(
		{ at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
		  at::RecordScope::TORCHSCRIPT_FUNCTION, at::RecordScope::CUSTOM_CLASS,
		  at::RecordScope::USER_SCOPE })));
	if (!(want & EMPTY))
		host.streams_by(&current_stream);
}

/* Labels tensor `impl` (Tensor._cdata) as `name` now, once, without keeping it. GIL held. */
extern "C" TIDE_API void tide_torch_say(void *impl, tide_name name, int role)
{
	try {
		at::Tensor t(Strong::reclaim_copy(static_cast<Impl *>(impl)));
		if (uint64_t addr = address_of(t))
			say(t, addr, name, static_cast<uint8_t>(role));
	} catch (...) { // no numeric shape
	}
}

/* Names the tensor `impl` (Tensor._cdata) `name`, and its gradients `grad_name` unless 0. `again`:
 * it replaces another name. The GIL must be held. */
extern "C" TIDE_API void tide_torch_label(void *impl, tide_name name, tide_name grad_name, int role,
					  bool again)
{
	for (size_t i = 0; again && i < labels.size(); i++) {
		if (labels[i].tensor._unsafe_get_target() != impl)
			continue;
		labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(i));
		break;
	}
	Label l{ Weak(Strong::reclaim_copy(static_cast<Impl *>(impl))), name, grad_name,
		 static_cast<uint8_t>(role) };
	try {
		if (refresh(l, false))
			labels.push_back(std::move(l));
	} catch (...) { // no numeric shape
	}
}

/* Assigns `n` labelled tensors to optimizer `owner`. GIL held. */
extern "C" TIDE_API void tide_torch_owner(uint64_t owner, void *const *impls, size_t n)
{
	std::unordered_set<const void *> its(impls, impls + n);
	for (Label &l : labels) {
		if (its.count(l.tensor._unsafe_get_target()))
			l.owner = owner;
		else if (l.owner == owner)
			l.owner = 0;
	}
}

/* Labels tensors that moved again, and the gradients of optimizer `owner` after its step. Returns
 * the number of freed tensors. The GIL must be held. */
extern "C" TIDE_API int tide_torch_labels(uint64_t owner)
{
	size_t kept = 0, n = labels.size();
	for (size_t i = 0; i < n; i++) {
		bool there = true;
		try {
			there = refresh(labels[i], owner && labels[i].owner == owner);
		} catch (...) {
		}
		if (!there)
			continue;
		if (kept != i)
			labels[kept] = std::move(labels[i]);
		kept++;
	}
	labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(kept), labels.end());
	return static_cast<int>(n - kept);
}

extern "C" TIDE_API void tide_torch_labels_clear(void)
{
	labels.clear();
}
