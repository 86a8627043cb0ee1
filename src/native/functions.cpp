#include "functions.hpp"

#include <array>
#include <utility>

namespace substrax {
namespace {

template <class T, Activation A, bool is_neat_python>
void apply_all(T* values, int n) {
  for (int k = 0; k < n; ++k) values[k] = apply<A, is_neat_python>(values[k]);
}

template <class T, bool is_neat_python, int... A>
constexpr auto make_table(std::integer_sequence<int, A...>) {
  return std::array<ArrayFunction<T>, sizeof...(A)>{
      apply_all<T, static_cast<Activation>(A), is_neat_python>...};
}

template <class T, bool is_neat_python>
constexpr auto table =
    make_table<T, is_neat_python>(std::make_integer_sequence<int, num_activations>{});

}  // namespace

template <class T>
ArrayFunction<T> array_function(int32_t activation, bool is_neat_python) {
  if (activation == identity_id) return nullptr;
  return is_neat_python ? table<T, true>[size_t(activation)] : table<T, false>[size_t(activation)];
}

template ArrayFunction<float> array_function<float>(int32_t, bool);
template ArrayFunction<double> array_function<double>(int32_t, bool);

}  // namespace substrax
