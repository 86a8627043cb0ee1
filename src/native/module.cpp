// The Python module: arrays in, arrays out. No algorithm lives here, and no check either:
// substrax/_native.py hands over only what has been checked.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "jax_calls.hpp"

#ifdef _M_X64
#include <immintrin.h>
#include <intrin.h>
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace substrax {
namespace {

template <class V>
using Column = nb::ndarray<const V, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class V>
using Table = nb::ndarray<const V, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class V>
std::span<const V> view(const Column<V>& column) {
  return {column.data(), column.size()};
}
template <class V>
std::span<const V> view(const Table<V>& table) {
  return {table.data(), table.size()};
}

// The arrays that programs look at live as long as they do.
template <class T>
struct HeldPrograms {
  Programs<T> programs;
  Column<int32_t> activation, first_row, num_rows, coordinates;
  Column<T> bias;
  Table<int32_t> source, output_slot;
  Table<T> weight;
};

template <class T>
HeldPrograms<T> hold_programs(Column<int32_t> activation, Column<T> bias, Table<int32_t> source,
                                               Table<T> weight, Column<int32_t> first_row,
                                               Column<int32_t> num_rows, Table<int32_t> output_slot,
                                               Column<int32_t> coordinates, bool is_neat_python) {
  const Programs<T> programs{view(activation),  view(bias),        view(source),     view(weight),
                             view(first_row),   view(num_rows),    view(output_slot), view(coordinates),
                             int(output_slot.shape(1)), is_neat_python};
  return {programs, activation, first_row, num_rows, coordinates, bias, source, output_slot, weight};
}

struct HeldLayout {
  Layout layout;
  Table<double> point;
  Column<int64_t> terminal_cell;
};

struct HeldFixed {
  FixedSettings settings;
  Table<double> point;
  Column<int32_t> rank, source, target;
};

// An array of Python's whose memory is `owner`'s.
template <class V, class Owner>
nb::object as_array(const V* data, int64_t size, Owner owner, int64_t width = 1) {
  auto* kept = new Owner(std::move(owner));
  nb::capsule capsule(kept, [](void* p) noexcept { delete static_cast<Owner*>(p); });
  size_t shape[] = {size_t(size), size_t(width)};
  return nb::cast(nb::ndarray<nb::numpy, const V>(data, width > 1 ? 2 : 1, shape, capsule));
}
template <class V>
nb::object as_array(std::vector<V> values, int64_t width = 1) {
  auto owner = std::make_shared<std::vector<V>>(std::move(values));
  return as_array(owner->data(), int64_t(owner->size()) / width, owner, width);
}

// Ctrl-C and progress, while threads work without the interpreter's lock.
Poll make_poll(const nb::object& on_progress) {
  return [on_progress](const Progress& progress) {
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      // The error stays set: it is raised when the work has ended.
      return false;
    }
    if (on_progress.is_none()) return true;
    try {
      on_progress(progress.num_done.load(), progress.num_queries.load(), progress.num_links.load());
    } catch (nb::python_error& error) {
      error.restore();
      return false;
    }
    return true;
  };
}

OpenScratch make_open_scratch(const nb::object& open_scratch) {
  return [open_scratch]() -> int {
    nb::gil_scoped_acquire lock;
    try {
      return nb::cast<int>(open_scratch());
    } catch (nb::python_error& error) {
      int number = EIO;
      // Some errors of the system's kind have no number.
      if (error.matches(PyExc_OSError) && !nb::try_cast(nb::getattr(error.value(), "errno", nb::none()), number))
        number = EIO;
      throw Refusal{RefusalKind::scratch_failed, number};
    }
  };
}

// What Python makes a sentence of.
void raise_refusal(const Refusal& refusal, const Workers& workers, const nb::object& refuse) {
  if (workers.was_stopped()) throw nb::python_error();
  if (workers.is_out_of_memory()) throw std::bad_alloc();
  if (refusal.kind != RefusalKind::none) {
    refuse(int(refusal.kind), refusal.number, refusal.level);
    throw std::runtime_error("a refusal must raise an error");
  }
}

template <class T>
nb::dict hand_over(std::unique_ptr<Discovered<T>> found) {
  nb::dict result;
  std::vector<int64_t> node_bounds{0}, link_bounds{0}, num_found;
  for (const auto& c : found->counts) {
    node_bounds.push_back(node_bounds.back() + c.num_nodes);
    link_bounds.push_back(link_bounds.back() + c.num_links);
    num_found.push_back(c.num_found);
  }
  const size_t num_nodes = size_t(node_bounds.back());
  std::vector<int32_t> activation(num_nodes), rank(num_nodes);
  std::vector<double> point(2 * num_nodes);
  size_t at = 0;
  for (auto& nodes : found->nodes) {
    const size_t n = size_t(nodes.rank.size());
    std::copy_n(nodes.activation.data(), n, activation.data() + at);
    std::copy_n(nodes.rank.data(), n, rank.data() + at);
    std::copy_n(nodes.point.data(), 2 * n, point.data() + 2 * at);
    at += n;
  }
  result["node_bounds"] = as_array(std::move(node_bounds));
  result["link_bounds"] = as_array(std::move(link_bounds));
  result["num_found"] = as_array(std::move(num_found));
  result["node_activation"] = as_array(std::move(activation));
  result["node_rank"] = as_array(std::move(rank));
  result["node_point"] = as_array(std::move(point), 2);
  result["num_queries"] = found->num_queries;
  const char* names[] = {"link_source", "link_target", "link_weight"};
  const int64_t num_links = found->links.size();
  for (int c = 0; c < 3; ++c) {
    if (found->links.is_on_disk()) continue;
    auto memory = found->links.memory(c);
    const void* data = memory ? memory->data() : nullptr;
    result[names[c]] = c < 2 ? as_array(static_cast<const int32_t*>(data), num_links, memory)
                             : as_array(static_cast<const T*>(data), num_links, memory);
  }
  if (found->links.is_on_disk())
    for (int c = 0; c < 3; ++c) result[names[c]] = found->links.release_file(c);
  return result;
}

const EmrSettings& settings_of(const EmrSettings& rule) { return rule; }
const EsSettings& settings_of(const EsSettings& rule) { return rule; }
const FixedSettings& settings_of(const HeldFixed& rule) { return rule.settings; }

template <class T, class Rule>
nb::dict discover_python(const HeldPrograms<T>& programs, const HeldLayout& layout, const Rule& rule,
                         const DiscoverySettings& settings, MemoryPool& memory, int num_threads,
                         nb::object open_scratch, nb::object on_progress, nb::object refuse) {
  Workers workers(num_threads, make_poll(on_progress));
  const OpenScratch open = make_open_scratch(open_scratch);
  std::unique_ptr<Discovered<T>> found;
  Refusal refusal;
  {
    nb::gil_scoped_release unlocked;
    refusal = discover(programs.programs, layout.layout, settings_of(rule), settings, open, memory, workers, found);
  }
  raise_refusal(refusal, workers, refuse);
  return hand_over(std::move(found));
}

template <class T>
nb::object query_python(const HeldPrograms<T>& programs, Column<int32_t> genome, Column<int64_t> bounds,
                        Table<T> source, Table<T> target, int num_threads) {
  const int64_t num = int64_t(source.shape(0)), num_outputs = programs.programs.num_outputs;
  std::vector<T> answers(size_t(num * num_outputs));
  Workers workers(num_threads, make_poll(nb::none()));
  const Questions<T> questions{view(genome), view(bounds), view(source), view(target)};
  {
    nb::gil_scoped_release unlocked;
    query(programs.programs, questions, workers, answers.data());
  }
  raise_refusal({}, workers, nb::none());
  return as_array(std::move(answers));
}

template <class T>
struct HeldNetworks {
  Networks<T> networks;
  Column<int64_t> node_bounds, link_bounds;
  Column<int32_t> node_activation, node_rank, link_source, link_target;
  Column<T> node_bias, link_weight;
};

template <class V, int axes>
using Array = nb::ndarray<V, nb::numpy, nb::ndim<axes>, nb::c_contig, nb::device::cpu>;

template <class T>
void evaluate_python(const HeldNetworks<T>& networks, Array<const T, 3> inputs, int steps, int64_t memory_budget,
                     int num_threads, Array<T, 3> outputs, nb::object refuse) {
  Workers workers(num_threads, make_poll(nb::none()));
  const SampleArray<T> samples{{inputs.data(), inputs.size()}, int64_t(inputs.shape(1)),
                               inputs.shape(0) == 1 && networks.networks.size() != 1};
  Refusal refusal;
  {
    nb::gil_scoped_release unlocked;
    refusal = evaluate(networks.networks, samples, steps, memory_budget, workers, outputs.data());
  }
  raise_refusal(refusal, workers, refuse);
}

template <class T>
void advance_python(const HeldNetworks<T>& networks, Array<const T, 3> inputs, int steps, int64_t memory_budget,
                    int num_threads, Array<T, 2> state, Array<T, 3> outputs, nb::object refuse) {
  Workers workers(num_threads, make_poll(nb::none()));
  const SampleArray<T> samples{{inputs.data(), inputs.size()}, int64_t(inputs.shape(1)),
                               inputs.shape(0) == 1 && networks.networks.size() != 1};
  Refusal refusal;
  {
    nb::gil_scoped_release unlocked;
    refusal = advance(networks.networks, samples, steps, memory_budget, workers, state.data(), outputs.data());
  }
  raise_refusal(refusal, workers, refuse);
}

// A function as JAX wants it, or None where there is none.
nb::object as_handler(void* function) {
  return function ? nb::object(nb::capsule(function)) : nb::none();
}

// What exists for float and for double, under the same names.
template <class T>
void bind(nb::module_& m, const char* programs_name, const char* networks_name, const char* readied_name) {
  nb::class_<HeldPrograms<T>>(m, programs_name)
      .def_static("hold", &hold_programs<T>, "activation"_a.noconvert(), "bias"_a.noconvert(), "source"_a.noconvert(),
                  "weight"_a.noconvert(), "first_row"_a.noconvert(), "num_rows"_a.noconvert(),
                  "output_slot"_a.noconvert(), "coordinates"_a.noconvert(), "is_neat_python"_a);
  nb::class_<HeldNetworks<T>>(m, networks_name)
      .def_static(
          "hold",
          [](int num_inputs, int num_outputs, Column<int64_t> node_bounds, Column<int64_t> link_bounds,
             Column<int32_t> node_activation, Column<int32_t> node_rank, Column<T> node_bias,
             Column<int32_t> link_source, Column<int32_t> link_target, Column<T> link_weight, bool is_neat_python,
             bool is_acyclic, bool is_on_disk) {
            const Networks<T> networks{num_inputs, num_outputs, view(node_bounds), view(link_bounds),
                                       view(node_activation), view(node_rank), view(node_bias), view(link_source),
                                       view(link_target), view(link_weight), is_neat_python, is_acyclic, is_on_disk};
            return HeldNetworks<T>{networks,    node_bounds, link_bounds, node_activation, node_rank,
                                   link_source, link_target, node_bias,   link_weight};
          },
          "num_inputs"_a, "num_outputs"_a, "node_bounds"_a.noconvert(), "link_bounds"_a.noconvert(),
          "node_activation"_a.noconvert(), "node_rank"_a.noconvert(), "node_bias"_a.noconvert(),
          "link_source"_a.noconvert(), "link_target"_a.noconvert(), "link_weight"_a.noconvert(), "is_neat_python"_a,
          "is_acyclic"_a, "is_on_disk"_a);
  nb::class_<Registration<T>>(m, readied_name)
      .def_static(
          "ready",
          [](const HeldNetworks<T>& networks, int steps) {
            return std::make_unique<Registration<T>>(std::make_shared<const Readied<T>>(networks.networks, steps));
          },
          "networks"_a, "steps"_a)
      .def_prop_ro("number", &Registration<T>::number)
      .def_static("settle_handler", [] { return as_handler(settle_handler<T>()); })
      .def_static("advance_handler", [] { return as_handler(advance_handler<T>()); });
  const auto def_discover = [&](auto function) {
    m.def("discover", function, "programs"_a, "layout"_a, "rule"_a, "settings"_a, "memory"_a, "num_threads"_a,
          "open_scratch"_a, "on_progress"_a.none(), "refuse"_a);
  };
  def_discover(&discover_python<T, EmrSettings>);
  def_discover(&discover_python<T, EsSettings>);
  def_discover(&discover_python<T, HeldFixed>);
  m.def("query", &query_python<T>, "programs"_a, "genome"_a.noconvert(), "bounds"_a.noconvert(),
        "source"_a.noconvert(), "target"_a.noconvert(), "num_threads"_a);
  m.def("evaluate", &evaluate_python<T>, "networks"_a, "inputs"_a.noconvert(), "steps"_a, "memory_budget"_a,
        "num_threads"_a, "outputs"_a.noconvert(), "refuse"_a);
  m.def("advance", &advance_python<T>, "networks"_a, "inputs"_a.noconvert(), "steps"_a, "memory_budget"_a,
        "num_threads"_a, "state"_a.noconvert(), "outputs"_a.noconvert(), "refuse"_a);
}

// Whether this processor, and its system, can run the module that is compiled for AVX2
// and FMA, and for what came with them.
bool has_fma() {
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
#elif defined(_M_X64)
  int leaf1[4], leaf7[4];
  __cpuidex(leaf1, 1, 0);
  __cpuidex(leaf7, 7, 0);
  const bool has_xsave = leaf1[2] >> 27 & 1;
  return has_xsave && (_xgetbv(0) & 6) == 6 && (leaf1[2] >> 12 & 1) && (leaf7[1] >> 5 & 1);
#else
  return false;
#endif
}

}  // namespace
}  // namespace substrax

NB_MODULE(SUBSTRAX_MODULE, m) {
  using namespace substrax;
  m.doc() = "substrax's engine for CPUs; used by substrax, not by its users.";
  // What a traceback still holds when the interpreter ends is no leak to be told of.
  nb::set_leak_warnings(false);
  m.def("has_fma", &has_fma);
  nb::class_<HeldLayout>(m, "Layout")
      .def_static(
          "hold",
          [](Table<double> point, Column<int64_t> terminal_cell, int num_inputs) {
            bool is_on_cell = false;
            for (int64_t cell : view(terminal_cell)) is_on_cell |= cell >= 0;
            const Layout layout{num_inputs, int(point.shape(0)) - num_inputs, view(point), view(terminal_cell),
                                is_on_cell};
            return HeldLayout{layout, point, terminal_cell};
          },
          "point"_a.noconvert(), "terminal_cell"_a.noconvert(), "num_inputs"_a);
  nb::class_<EmrSettings>(m, "EmrSettings")
      .def_static(
          "make",
          [](int depth, int initial_depth, int rounds, int classes, double variance_threshold, double weight_threshold,
             double band_threshold, bool is_weight_field, bool is_recovering, bool is_eager) {
            return EmrSettings{depth,          initial_depth,   rounds,        classes, variance_threshold, weight_threshold,
                               band_threshold, is_weight_field, is_recovering, is_eager};
          },
          nb::kw_only(), "depth"_a, "initial_depth"_a, "rounds"_a, "classes"_a, "variance_threshold"_a,
          "weight_threshold"_a, "band_threshold"_a, "is_weight_field"_a, "is_recovering"_a, "is_eager"_a);
  nb::class_<EsSettings>(m, "EsSettings")
      .def_static(
          "make",
          [](int depth, int initial_depth, int iteration_level, double division_threshold, double variance_threshold,
             double band_threshold, bool is_eager) {
            return EsSettings{depth,          initial_depth, iteration_level, division_threshold, variance_threshold,
                              band_threshold, is_eager};
          },
          nb::kw_only(), "depth"_a, "initial_depth"_a, "iteration_level"_a, "division_threshold"_a,
          "variance_threshold"_a, "band_threshold"_a, "is_eager"_a);
  nb::class_<HeldFixed>(m, "FixedSettings")
      .def_static(
          "make",
          [](Table<double> point, Column<int32_t> rank, Column<int32_t> source, Column<int32_t> target,
             double weight_threshold) {
            const FixedSettings settings{view(point), view(rank), view(source), view(target), weight_threshold};
            return HeldFixed{settings, point, rank, source, target};
          },
          nb::kw_only(), "point"_a.noconvert(), "rank"_a.noconvert(), "source"_a.noconvert(),
          "target"_a.noconvert(), "weight_threshold"_a);
  nb::class_<MemoryPool>(m, "MemoryPool").def(nb::init<>());
  nb::class_<DiscoverySettings>(m, "DiscoverySettings")
      .def_static(
          "make",
          [](bool is_deadzone, double max_weight, int hidden_activation, int output_activation, bool silences_unfed,
             int depth, int64_t memory_budget) {
            const NodeSettings nodes{hidden_activation, output_activation, silences_unfed};
            return DiscoverySettings{{is_deadzone, max_weight}, nodes, depth, memory_budget};
          },
          nb::kw_only(), "is_deadzone"_a, "max_weight"_a, "hidden_activation"_a, "output_activation"_a,
          "silences_unfed"_a, "depth"_a, "memory_budget"_a);
  bind<float>(m, "ProgramsFloat", "NetworksFloat", "ReadiedFloat");
  bind<double>(m, "ProgramsDouble", "NetworksDouble", "ReadiedDouble");
}
