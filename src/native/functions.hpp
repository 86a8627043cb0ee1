// Activation functions by number, over arrays.
#pragma once

#include <cstdint>

#include "activation.hpp"

namespace substrax {

constexpr int identity_id = 0;

// Replaces n numbers by what the function answers. Null stands for the identity.
template <class T>
using ArrayFunction = void (*)(T* values, int n);

template <class T>
ArrayFunction<T> array_function(int32_t activation, bool is_neat_python);

extern template ArrayFunction<float> array_function<float>(int32_t, bool);
extern template ArrayFunction<double> array_function<double>(int32_t, bool);

}  // namespace substrax
