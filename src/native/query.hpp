// The query kernel: one CPPN, and many links. One end of them is fixed as a rule, and
// there are many points at the other; or each link has two ends of its own.
//
// A row of a program is one of three kinds, once it is said which end is fixed. Uniform
// rows depend on the fixed end alone (or on nothing) and are numbers. Moving rows depend
// on the other end alone: they are computed once for all points, however many fixed
// ends there are. Only mixed rows are computed for each pair. Where no end is fixed all
// rows are moving.
//
// Bits: a sum is z = bias, then z = fma(weight, value, z) for each operand in order, as
// XLA has it. Which kind a row is changes who computes it, and not how.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "functions.hpp"
#include "program.hpp"
#include "refusal.hpp"

namespace substrax {

enum class End { source, target, neither };

template <class T>
class Query {
 public:
  static constexpr int block = 256;  // pairs that are asked about at a time
  static constexpr int lanes = 8;    // arrays are read in whole vectors of this length

  Query(const Programs<T>& programs, const std::atomic<bool>& stop)
      : programs_(programs), stop_(stop), views_(3) {}

  // The CPPN that is asked from now on.
  void take(int genome) {
    genome_ = genome;
    for (View& view : views_) view.is_ready = false;
  }
  // Which end is fixed from now on.
  void aim(End fixed) {
    view_ = &views_[size_t(fixed)];
    if (!view_->is_ready) view_->specialise(programs_, genome_, fixed);
  }
  // Where the moving points are to be written: room for n of each.
  T* x(int64_t n) { return view_->room(n), view_->moving_point(0); }
  T* y(int64_t n) { return view_->room(n), view_->moving_point(1); }
  // The same for one of x1, y1, x2, y2, where no end is fixed.
  T* coordinate(Coordinate c, int64_t n) { return view_->room(n), view_->points[size_t(c)].data(); }
  // The moving points are written; n of them.
  void place(int64_t n) { view_->place(n); }
  // The point at the fixed end.
  void fix(T x, T y) { view_->fix(x, y); }
  // Asks about points `begin` to `begin + n`, at most a block.
  void run(int64_t begin, int n) {
    if (stop_.load(std::memory_order_relaxed)) throw Stopped{};
    num_queries += n;
    view_->run(begin, n);
  }
  // What the CPPN says about the pairs asked last; readable to whole vectors.
  const T* output(int k) const { return view_->output(k); }
  int num_outputs() const { return programs_.num_outputs; }

  int64_t num_queries = 0;

 private:
  enum Kind : uint8_t { constant = 0, fixed = 1, moving = 2, mixed = 3 };

  struct Operand {
    int slot;
    T weight;
    const T* values;
    bool moves;  // whether `values` goes on with the points
  };
  struct Row {
    int slot;
    ArrayFunction<T> function;
    T bias, start;
    int num_uniform, num_operands;
    Operand uniform[fan_in];   // leading operands that are numbers: they become `start`
    Operand operand[fan_in];
    T* result;
  };

  // The program as it is seen with one end fixed. Its functions work on a block each:
  // inlined into all who call them they would only take longer to compile.
  struct View {
    bool is_ready = false;
    std::vector<int> coordinate_slot = std::vector<int>(8, -1);  // -1: not an input
    std::vector<Kind> kind;                // of each slot
    std::vector<T> number;                 // of each uniform slot
    std::vector<std::vector<T>> mixed_values, broadcast;  // of each slot, one block
    std::vector<std::vector<T>> moving_values;            // of each slot, all points
    std::vector<T> points[4];              // x1, y1, x2, y2, as far as they move
    std::vector<uint8_t> is_spread;        // uniform slots that somebody reads as arrays
    std::vector<uint8_t> is_needed;        // slots that an output depends on
    std::vector<Row> constant_rows, fixed_rows, moving_rows, mixed_rows;
    std::vector<int> outputs;
    int64_t capacity = 0;
    bool has_differences = false;
    End end = End::source;
    T fixed_x = 0, fixed_y = 0;
    int64_t begin = 0;

    // x or y of the end that moves.
    T* moving_point(int axis) { return points[size_t(end == End::source ? 2 + axis : axis)].data(); }
    bool does_move(int coordinate) const {
      return end == End::neither || (coordinate < 2) == (end == End::target);
    }

    [[gnu::noinline]] void room(int64_t n) {
      if (n <= capacity) return;
      capacity = std::max<int64_t>(n, 2 * capacity);
      for (int c = 0; c < 4; ++c)
        if (does_move(c)) points[c].resize(size_t(capacity + 2 * lanes));
      for (size_t s = 0; s < kind.size(); ++s)
        if (kind[s] == moving) fit(s);
      connect();
    }
    void fit(size_t slot) { moving_values[slot].resize(size_t(capacity + 2 * lanes)); }

    [[gnu::noinline]] void specialise(const Programs<T>& p, int genome, End fixed_end) {
      end = fixed_end;
      const int num_inputs = p.num_inputs(), first = p.first_row[genome];
      const int num_slots = num_inputs + p.num_rows[genome];
      if (int(mixed_values.size()) < num_slots) {
        mixed_values.resize(num_slots);
        broadcast.resize(num_slots);
        moving_values.resize(num_slots);
      }
      kind.assign(num_slots, constant);
      number.assign(num_slots, T(0));
      is_spread.assign(num_slots, 0);
      constant_rows.clear(), fixed_rows.clear(), moving_rows.clear(), mixed_rows.clear();
      has_differences = false;
      for (int s = 0; s < num_inputs; ++s) take_coordinate(Coordinate(p.coordinates[s]), s);
      outputs.assign(p.output_slot.begin() + size_t(genome) * p.num_outputs,
                     p.output_slot.begin() + size_t(genome + 1) * p.num_outputs);
      find_needed(p, first, num_slots);
      for (int k = 0; k < p.num_rows[genome]; ++k)
        if (is_needed[size_t(num_inputs + k)]) take_row(p, first + k, num_inputs + k);
      for (int s : outputs)
        if (kind[s] < moving) is_spread[s] = 1;
      for (int s = 0; s < num_slots; ++s) {
        if (kind[s] == mixed) mixed_values[s].resize(block + 2 * lanes);
        if (kind[s] == moving) fit(size_t(s));
        if (is_spread[s]) broadcast[s].resize(block + 2 * lanes);
      }
      connect();
      for (Row& row : constant_rows) compute_number(row);
      for (int s = 0; s < num_slots; ++s)
        if (is_spread[s] && kind[s] == constant) spread(s);
      for (Row& row : moving_rows) begin_sum(row);
      is_ready = true;
    }
    // Rows that no output of these needs: those of outputs that nobody asks for.
    void find_needed(const Programs<T>& p, int first, int num_slots) {
      is_needed.assign(size_t(num_slots), 0);
      for (int s : outputs) is_needed[size_t(s)] = 1;
      for (int s = num_slots - 1; s >= p.num_inputs(); --s) {
        if (!is_needed[size_t(s)]) continue;
        const int32_t* source = p.source.data() + size_t(first + s - p.num_inputs()) * fan_in;
        for (int f = 0; f < fan_in; ++f) is_needed[size_t(source[f])] = 1;
      }
    }
    void take_coordinate(Coordinate c, int s) {
      coordinate_slot[int(c)] = s;
      if (c == Coordinate::bias) {
        number[s] = T(1);
      } else if (int(c) > int(Coordinate::bias)) {
        kind[s] = end == End::neither ? moving : mixed;
        has_differences = true;
      } else {
        kind[s] = does_move(int(c)) ? moving : fixed;
      }
    }
    void take_row(const Programs<T>& p, int r, int slot) {
      Row row{};
      row.slot = slot;
      row.function = array_function<T>(p.activation[r], p.is_neat_python);
      row.bias = p.bias[r];
      uint8_t depends = constant;
      for (int f = 0; f < fan_in; ++f) {
        const int s = p.source[size_t(r) * fan_in + f];
        const T w = p.weight[size_t(r) * fan_in + f];
        // Padding: an input is finite, so that adding 0 times it changes nothing.
        if (w == T(0) && s < p.num_inputs()) continue;
        depends |= kind[s];
        const bool is_number = kind[s] < moving;
        if (is_number && row.num_operands == 0) {
          row.uniform[row.num_uniform++] = {s, w, nullptr, false};
        } else {
          if (is_number) is_spread[s] = 1;
          row.operand[row.num_operands++] = {s, w, nullptr, kind[s] == moving};
        }
      }
      kind[slot] = Kind(depends);
      (depends == constant ? constant_rows
       : depends == fixed  ? fixed_rows
       : depends == moving ? moving_rows
                           : mixed_rows)
          .push_back(row);
    }
    // Where the values of operands are, after something was allocated.
    void connect() {
      for (auto* rows : {&moving_rows, &mixed_rows}) {
        for (Row& row : *rows) {
          row.result = rows == &moving_rows ? moving_values[row.slot].data() : mixed_values[row.slot].data();
          for (int f = 0; f < row.num_operands; ++f) row.operand[f].values = values_of(row.operand[f].slot);
        }
      }
    }
    const T* values_of(int s) const {
      if (kind[s] < moving) return broadcast[s].data();
      if (kind[s] == mixed) return mixed_values[s].data();
      for (int c = 0; c < 4; ++c)
        if (s == coordinate_slot[c]) return points[c].data();
      return moving_values[s].data();
    }
    void spread(int s) { std::fill(broadcast[s].begin(), broadcast[s].end(), number[s]); }

    void begin_sum(Row& row) {
      T z = row.bias;
      for (int f = 0; f < row.num_uniform; ++f)
        z = std::fma(row.uniform[f].weight, number[row.uniform[f].slot], z);
      row.start = z;
    }
    void compute_number(Row& row) {
      begin_sum(row);
      if (row.function) row.function(&row.start, 1);
      number[row.slot] = row.start;
    }

    [[gnu::noinline]] void fix(T px, T py) {
      fixed_x = px, fixed_y = py;
      set(end == End::source ? Coordinate::x1 : Coordinate::x2, px);
      set(end == End::source ? Coordinate::y1 : Coordinate::y2, py);
      for (Row& row : fixed_rows) {
        compute_number(row);
        if (is_spread[row.slot]) spread(row.slot);
      }
      for (Row& row : mixed_rows) begin_sum(row);
    }
    void set(Coordinate c, T value) {
      const int s = coordinate_slot[int(c)];
      if (s < 0) return;
      number[s] = value;
      if (is_spread[s]) spread(s);
    }

    [[gnu::noinline]] void place(int64_t n) {
      if (has_differences && end == End::neither) differences_of_pairs(padded(n));
      for (int64_t first = 0; first < n; first += block) {
        const int64_t num = padded(std::min<int64_t>(block, n - first));
        for (const Row& row : moving_rows) compute(row, row.result + first, first, num);
      }
    }
    [[gnu::noinline]] void run(int64_t first, int n) {
      begin = first;
      const int64_t num = padded(n);
      if (has_differences && end != End::neither) differences(first, num);
      for (const Row& row : mixed_rows) compute(row, row.result, first, num);
    }
    static int64_t padded(int64_t n) { return (n + lanes - 1) / lanes * lanes; }

    // The source is subtracted from the target.
    void differences(int64_t first, int64_t n) {
      T *dx = difference(Coordinate::dx, n), *dy = difference(Coordinate::dy, n);
      const T *px = moving_point(0) + first, *py = moving_point(1) + first;
      const T sign = end == End::source ? T(1) : T(-1);  // a change of sign is exact
      for (int64_t k = 0; k < n; ++k) dx[k] = sign * (px[k] - fixed_x);
      for (int64_t k = 0; k < n; ++k) dy[k] = sign * (py[k] - fixed_y);
      distances(dx, dy, n);
    }
    void differences_of_pairs(int64_t n) {
      T *dx = difference(Coordinate::dx, n), *dy = difference(Coordinate::dy, n);
      for (int64_t k = 0; k < n; ++k) dx[k] = points[2][size_t(k)] - points[0][size_t(k)];
      for (int64_t k = 0; k < n; ++k) dy[k] = points[3][size_t(k)] - points[1][size_t(k)];
      distances(dx, dy, n);
    }
    void distances(const T* dx, const T* dy, int64_t n) {
      const int s = coordinate_slot[int(Coordinate::distance)];
      if (s < 0) return;
      T* distance = kind[s] == mixed ? mixed_values[s].data() : moving_values[s].data();
      for (int64_t k = 0; k < n; ++k) distance[k] = std::sqrt(std::fma(dx[k], dx[k], dy[k] * dy[k]));
    }
    // Where a difference goes: to its slot, or, if it is no input, somewhere.
    T* difference(Coordinate c, int64_t n) {
      const int s = coordinate_slot[int(c)];
      if (s >= 0) return kind[s] == mixed ? mixed_values[s].data() : moving_values[s].data();
      auto& spare = spare_differences[c == Coordinate::dy];
      if (int64_t(spare.size()) < n) spare.resize(size_t(n));
      return spare.data();
    }
    std::vector<T> spare_differences[2];

    // A row for points from `first` on, no more than a block.
    void compute(const Row& row, T* result, int64_t first, int64_t n) {
      const T* a[fan_in];
      T w[fan_in];
      for (int f = 0; f < row.num_operands; ++f) {
        a[f] = row.operand[f].values + (row.operand[f].moves ? first : 0);
        w[f] = row.operand[f].weight;
      }
      switch (row.num_operands) {
        case 1: add_up<1>(result, n, row.start, a, w); break;
        case 2: add_up<2>(result, n, row.start, a, w); break;
        case 3: add_up<3>(result, n, row.start, a, w); break;
        default: add_up<4>(result, n, row.start, a, w);
      }
      if (row.function) row.function(result, int(n));
    }
    template <int N>
    static void add_up(T* __restrict result, int64_t n, T start, const T* const* a, const T* w) {
      // Copies of pointers and weights: else the compiler would read them anew each time.
      const T *a0 = a[0], *a1 = a[N > 1], *a2 = a[N > 2 ? 2 : 0], *a3 = a[N > 3 ? 3 : 0];
      const T w0 = w[0], w1 = w[N > 1], w2 = w[N > 2 ? 2 : 0], w3 = w[N > 3 ? 3 : 0];
      for (int64_t k = 0; k < n; ++k) {
        T z = std::fma(w0, a0[k], start);
        if constexpr (N > 1) z = std::fma(w1, a1[k], z);
        if constexpr (N > 2) z = std::fma(w2, a2[k], z);
        if constexpr (N > 3) z = std::fma(w3, a3[k], z);
        result[k] = z;
      }
    }
    const T* output(int k) const {
      const int s = outputs[k];
      if (kind[s] < moving) return broadcast[s].data();
      if (kind[s] == mixed) return mixed_values[s].data();
      return values_of(s) + begin;  // an input may be an output
    }
  };

  const Programs<T>& programs_;
  const std::atomic<bool>& stop_;
  std::vector<View> views_;  // by which end is fixed
  View* view_ = nullptr;
  int genome_ = 0;
};

}  // namespace substrax
