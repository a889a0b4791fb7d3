// Every operator is one of two kinds of movement. A plan states which, in integers that follow from shapes and
// attributes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace gs {

// product = a * b, for numbers that are not negative. False: the product overflows. This avoids a division, which would
// take longer than the rest of a small call.
inline bool multiply(int64_t a, int64_t b, int64_t& product) {
#if defined(__GNUC__)
    return !__builtin_mul_overflow(a, b, &product);
#else
    if (b != 0 && a > INT64_MAX / b) return false;
    product = a * b;
    return true;
#endif
}

// Returns the largest number instead of overflowing.
inline int64_t saturating_multiply(int64_t a, int64_t b) {
    int64_t product;
    return multiply(a, b, product) ? product : INT64_MAX;
}

inline int64_t saturating_add(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

// NumPy's limit on dimensions.
inline constexpr int max_rank = 64;

struct Shape {
    int rank = 0;
    int64_t dim[max_rank];  // only the first `rank` entries are valid

    Shape() {}  // deliberately does not initialize `dim`, because plans are made for every call
    Shape(const Shape& other) { append(other.dim, other.rank); }
    Shape& operator=(const Shape& other) {
        std::copy(other.begin(), other.end(), dim);
        rank = other.rank;
        return *this;
    }
    Shape(const int64_t* dims, int n) { append(dims, n); }
    explicit Shape(std::initializer_list<int64_t> dims) { append(dims.begin(), static_cast<int>(dims.size())); }

    const int64_t* begin() const { return dim; }
    const int64_t* end() const { return dim + rank; }
    int64_t operator[](int i) const { return dim[i]; }
    void push(int64_t n) { dim[rank++] = n; }
    void append(const int64_t* dims, int n) {
        for (int i = 0; i < n; ++i) push(dims[i]);
    }
    bool operator==(const Shape& other) const {
        bool same = rank == other.rank;
        for (int i = 0; same && i < rank; ++i) same = dim[i] == other.dim[i];
        return same;
    }
};

// Saturates on overflow.
inline int64_t count_elements(const Shape& shape) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    int64_t elements = 1;
    for (int64_t n : shape) elements = saturating_multiply(elements, n);
    return elements;
}

// An index tuple names a whole row:
//   data [batch, outer, prod(dims), width]   slots [batch, outer, count, width]   indices [batch, count, dims.rank]
struct Rows {
    int64_t batch, outer, count, width;
    Shape dims;
    int64_t data_rows;           // prod(dims)
    int batch_rank, outer_rank;  // the number of batch and outer dims in data
};

// The layout of rows in memory, in bytes. Contiguous data is a special case.
struct Layout {
    int64_t batch_stride, outer_stride;
    int64_t row_stride;  // the distance between consecutive row numbers
    Shape weights;       // the tuple t names row number sum(t[j] * weights[j])
    // A row consists of pieces of this number of bytes, each contiguous. The dims and strides are those of the pieces.
    int64_t piece_size;
    Shape pieces, piece_stride;

    // Whether rows are contiguous, and each begins where the one before it ends.
    bool is_packed(int64_t row_size) const { return piece_size == row_size && row_stride == row_size; }
};
void lay_out(const Rows&, int64_t item_size, Layout&);  // of contiguous data
// Of data with strides. False: the rows are not evenly spaced.
[[nodiscard]] bool lay_out(const Rows&, const Shape& data, const Shape& strides, int64_t item_size, Layout&);

// Each element of the index box names its own position along one axis of data. The dims before and after the axis are
// merged where box and data agree. Strides are those of data, in elements.
struct Lanes {
    Shape before, before_stride;
    int64_t count, size, stride;  // of the axis: its length in the box, and its length and stride in data
    Shape after, after_stride;
    int64_t elements, data_elements;  // in the box, in data
};

enum class Form : uint8_t { rows, lanes };
inline const char* name(Form form) { return form == Form::rows ? "rows" : "lanes"; }

struct Plan {
    Form form;
    Rows rows;
    Lanes lanes;
    Shape slots;  // shape of a gather's output and of a scatter's updates
};

// The faults that shapes and attributes can have. errors.py writes the messages.
enum class Fault : uint8_t {
    none,
    data_rank,      // data must have rank >= 1
    indices_rank,   // indices must have rank >= 1
    same_rank,      // indices must have the rank of data
    axis,           // outside [-r, r-1]
    batch_dims,     // outside its range
    batch_axis,     // batch_dims greater than axis
    batch_shape,    // data and indices differ in a batch dimension
    tuple_length,   // more columns than data has remaining dimensions
    indices_shape,  // a dimension of indices other than the axis is longer than that of data
    output_rank,    // more dimensions than NumPy supports
    too_large,      // a product of dimensions overflows
};
const char* name(Fault);

// The kernels that have plans. The array functions in Python have the same names.
enum class Kernel : uint8_t { gather, gather_elements, gather_nd, scatter_update, scatter_elements, scatter_nd };
inline constexpr const char* kernel_names[] = {"gather",         "gather_elements",  "gather_nd",
                                               "scatter_update", "scatter_elements", "scatter_nd"};
inline constexpr int kernel_count = static_cast<int>(std::size(kernel_names));
static_assert(kernel_count == static_cast<int>(Kernel::scatter_nd) + 1);
inline const char* name(Kernel kernel) { return kernel_names[static_cast<int>(kernel)]; }
inline bool is_scatter(Kernel kernel) { return kernel >= Kernel::scatter_update; }

// slots = data[:axis] + indices[batch_dims:] + data[axis+1:]
[[nodiscard]] Fault plan_axis(const Shape& data, const Shape& indices, int64_t axis, int64_t batch_dims, Plan&);
// slots = indices. `strides`: those of data, in elements; absent if data is contiguous
[[nodiscard]] Fault plan_elements(const Shape& data, const Shape& indices, int64_t axis, Plan&,
                                  const Shape* strides = nullptr);
// slots = indices[:-1] + data[batch_dims+k:]
[[nodiscard]] Fault plan_nd(const Shape& data, const Shape& indices, int64_t batch_dims, Plan&);
// Makes the plan of a kernel with one of these functions. Axis and batch_dims are ignored where the kernel does not
// have them.
[[nodiscard]] Fault make_plan(Kernel, const Shape& data, const Shape& indices, int64_t axis, int64_t batch_dims, Plan&);

}  // namespace gs
