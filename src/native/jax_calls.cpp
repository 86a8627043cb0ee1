#include "jax_calls.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "float_mode.hpp"

#ifdef SUBSTRAX_XLA
#include "xla/ffi/api/ffi.h"
#endif

namespace substrax {
namespace {

template <class T>
struct Registry {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<const Readied<T>>> all;
  uint64_t next = 1;

  static Registry& get() {
    static Registry registry;
    return registry;
  }
};

template <class T>
std::shared_ptr<const Readied<T>> find(uint64_t number) {
  auto& registry = Registry<T>::get();
  std::lock_guard guard(registry.mutex);
  const auto found = registry.all.find(number);
  return found == registry.all.end() ? nullptr : found->second;
}

}  // namespace

template <class T>
Registration<T>::Registration(std::shared_ptr<const Readied<T>> networks) {
  auto& registry = Registry<T>::get();
  std::lock_guard guard(registry.mutex);
  number_ = registry.next++;
  registry.all.emplace(number_, std::move(networks));
}
template <class T>
Registration<T>::~Registration() {
  auto& registry = Registry<T>::get();
  std::lock_guard guard(registry.mutex);
  registry.all.erase(number_);
}

template class Registration<float>;
template class Registration<double>;

#ifdef SUBSTRAX_XLA
namespace {

namespace ffi = xla::ffi;

template <class T>
constexpr ffi::DataType type_of = sizeof(T) == 4 ? ffi::F32 : ffi::F64;

constexpr int64_t worth_a_thread = 50'000;  // nanoseconds: what waking one takes, and some more

// Items 0 to `num`, some at a time, in the threads of `pool` and in this one. This one
// takes whatever is left, so that nobody waits for a thread that never comes; threads that
// come late find nothing to do, and `work` lives as long as the last of them.
template <class Work>
void run_in_parallel(ffi::ThreadPool& pool, int64_t num, int64_t num_threads, Work work) {
  struct Shared {
    Shared(Work work, int64_t num, int64_t share) : work(std::move(work)), num(num), share(share) {}

    Work work;
    int64_t num, share;
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::condition_variable is_done;
    int64_t num_done = 0;

    void go() {
      for (int64_t begin; (begin = next.fetch_add(share)) < num;) {
        const int64_t stop = std::min(num, begin + share);
        work(begin, stop);
        std::lock_guard guard(mutex);
        num_done += stop - begin;
        if (num_done == num) is_done.notify_all();
      }
    }
  };
  if (num_threads <= 1 || num <= 1) return work(int64_t(0), num);
  auto shared = std::make_shared<Shared>(std::move(work), num, std::max<int64_t>(1, num / (4 * num_threads)));
  for (int64_t t = 1; t < num_threads; ++t) pool.Schedule([shared] { shared->go(); });
  shared->go();
  std::unique_lock lock(shared->mutex);
  shared->is_done.wait(lock, [&] { return shared->num_done == shared->num; });
}

template <class T>
ffi::Error run(ffi::ThreadPool pool, int32_t max_threads, ffi::Buffer<ffi::U32, 1> number, const T* inputs,
               ffi::AnyBuffer::Dimensions shape, const T* state, int64_t num_slots, T* next, T* outputs) {
  const uint64_t low = number.typed_data()[0], high = number.typed_data()[1];
  const auto networks = find<T>(low | high << 32);
  if (!networks)
    return ffi::Error(ffi::ErrorCode::kFailedPrecondition,
                      "these networks are gone: they must be kept as long as a JAX function uses them");
  const int64_t num = shape[0], num_samples = shape[1];
  if (!networks->num_networks() || num < networks->num_networks() || shape[2] != networks->num_inputs() ||
      networks->is_settled() != (state == nullptr) || (state && num_slots < networks->most_nodes()))
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "these are not the networks that this was compiled for");
  const Readied<T>& all = *networks;
  const typename Readied<T>::Call call{inputs, outputs, num_samples, state, next, num_slots};
  const int64_t of_state = num_slots * num_samples, of_outputs = num_samples * all.num_outputs();
  if (state) std::fill_n(next, num * of_state, T(0));  // also slots without a node
  const int64_t num_threads =
      std::min<int64_t>({max_threads, pool.num_threads() + 1, all.cost(num_samples) / worth_a_thread + 1});
  run_in_parallel(pool, all.num_chunks(), num_threads, [&all, call](int64_t begin, int64_t stop) {
    FlushDenormals flush;
    thread_local std::vector<T> memory;
    for (int64_t chunk = begin; chunk < stop; ++chunk) all.run(int(chunk), call, memory);
  });
  // Rows without a network answer as the last does: a function that goes on until its
  // network says so must come to an end for them, too.
  const int64_t last = all.num_networks() - 1;
  for (int64_t g = last + 1; g < num; ++g) {
    std::copy_n(outputs + last * of_outputs, of_outputs, outputs + g * of_outputs);
    if (state) std::copy_n(next + last * of_state, of_state, next + g * of_state);
  }
  return ffi::Error::Success();
}

template <class T>
ffi::Error settle(ffi::ThreadPool pool, int32_t threads, ffi::Buffer<ffi::U32, 1> number,
                  ffi::Buffer<type_of<T>, 3> inputs, ffi::ResultBuffer<type_of<T>, 3> outputs) {
  return run<T>(pool, threads, number, inputs.typed_data(), inputs.dimensions(), nullptr, 0, nullptr,
                outputs->typed_data());
}
template <class T>
ffi::Error advance(ffi::ThreadPool pool, int32_t threads, ffi::Buffer<ffi::U32, 1> number,
                   ffi::Buffer<type_of<T>, 3> inputs, ffi::Buffer<type_of<T>, 3> state,
                   ffi::ResultBuffer<type_of<T>, 3> next, ffi::ResultBuffer<type_of<T>, 3> outputs) {
  return run<T>(pool, threads, number, inputs.typed_data(), inputs.dimensions(), state.typed_data(),
                state.dimensions()[1], next->typed_data(), outputs->typed_data());
}

template <class T>
XLA_FFI_Error* call_settle(XLA_FFI_CallFrame* frame) {
  using Buffer = ffi::Buffer<type_of<T>, 3>;
  static const auto* handler = ffi::Ffi::Bind()
                                   .Ctx<ffi::ThreadPool>()
                                   .Attr<int32_t>("threads")
                                   .Arg<ffi::Buffer<ffi::U32, 1>>()
                                   .template Arg<Buffer>()
                                   .template Ret<Buffer>()
                                   .To(settle<T>)
                                   .release();
  return handler->Call(frame);
}
template <class T>
XLA_FFI_Error* call_advance(XLA_FFI_CallFrame* frame) {
  using Buffer = ffi::Buffer<type_of<T>, 3>;
  static const auto* handler = ffi::Ffi::Bind()
                                   .Ctx<ffi::ThreadPool>()
                                   .Attr<int32_t>("threads")
                                   .Arg<ffi::Buffer<ffi::U32, 1>>()
                                   .template Arg<Buffer>()
                                   .template Arg<Buffer>()
                                   .template Ret<Buffer>()
                                   .template Ret<Buffer>()
                                   .To(advance<T>)
                                   .release();
  return handler->Call(frame);
}

}  // namespace

template <class T>
void* settle_handler() {
  return reinterpret_cast<void*>(&call_settle<T>);
}
template <class T>
void* advance_handler() {
  return reinterpret_cast<void*>(&call_advance<T>);
}
#else
template <class T>
void* settle_handler() {
  return nullptr;
}
template <class T>
void* advance_handler() {
  return nullptr;
}
#endif

template void* settle_handler<float>();
template void* settle_handler<double>();
template void* advance_handler<float>();
template void* advance_handler<double>();

}  // namespace substrax
