// What JAX calls from within its own programs: networks that were readied before, by the
// number that they got then.
#pragma once

#include <cstdint>
#include <memory>

#include "readied.hpp"

namespace substrax {

// Readied networks under a number, for as long as this exists.
template <class T>
class Registration {
 public:
  explicit Registration(std::shared_ptr<const Readied<T>> networks);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  uint64_t number() const { return number_; }

 private:
  uint64_t number_;
};

// Addresses of the functions that JAX is told of (XLA_FFI_Handler): outputs of networks
// that settle, and next states and outputs of those with cycles. Null where this was
// compiled without XLA's headers.
template <class T>
void* settle_handler();
template <class T>
void* advance_handler();

}  // namespace substrax
