#include "engine_implementation.hpp"

namespace substrax {

using T = float;

template Refusal discover<T, EmrSettings>(const Programs<T>&, const Layout&, const EmrSettings&,
                                          const DiscoverySettings&, const OpenScratch&, MemoryPool&, Workers&,
                                          std::unique_ptr<Discovered<T>>&);
template Refusal discover<T, EsSettings>(const Programs<T>&, const Layout&, const EsSettings&,
                                         const DiscoverySettings&, const OpenScratch&, MemoryPool&, Workers&,
                                         std::unique_ptr<Discovered<T>>&);
template Refusal discover<T, FixedSettings>(const Programs<T>&, const Layout&, const FixedSettings&,
                                            const DiscoverySettings&, const OpenScratch&, MemoryPool&, Workers&,
                                            std::unique_ptr<Discovered<T>>&);
template Refusal query<T>(const Programs<T>&, const Questions<T>&, Workers&, T*);
template Refusal evaluate<T>(const Networks<T>&, const SampleArray<T>&, int, int64_t, Workers&, T*);
template Refusal advance<T>(const Networks<T>&, const SampleArray<T>&, int, int64_t, Workers&, T*, T*);

}  // namespace substrax
