// gather_quantized on NumPy arrays.
#include <cstring>
#include <new>

#include "call.hpp"
#include "facts.hpp"
#include "float_mode.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "quantized_plan.hpp"
#include "signals.hpp"

namespace gs {
namespace {

// A call with contiguous arrays, checked and planned.
struct PreparedQuantized {
    explicit PreparedQuantized(const QuantizedCall& given) : call(given) {}

    const QuantizedCall& call;
    Ref data, indices;
    IndexType index_type{};
    PreparedTable table;
    bool writes_out = false;

    const QuantizedPlan& plan() const { return table.plan; }
    PyArray_Descr* result_type() const { return PyArray_DESCR(table.scales.array()); }
    PyObject* dtype() const { return reinterpret_cast<PyObject*>(result_type()); }
    Index index() const {
        return Index(PyArray_DATA(indices.array()), index_type, Shape{plan().rows()}, Shape{1}, call.operation.rule);
    }
};

// Finds how a type stores codes. ml_dtypes registers its types with NumPy, and stores one element in a byte. False: the
// elements are not codes.
bool code_type(PyArray_Descr* descr, int64_t bits, CodeType& type) {
    if (descr->type_num == NPY_UINT8) {
        type = codes_in_bytes(bits).value_or(type);  // other numbers of bits are refused later
        return true;
    }
    if (descr->type_num == NPY_INT8) {
        type = {CodeFormat::signed_integer};
        return true;
    }
    if (!PyTypeNum_ISUSERDEF(descr->type_num) || PyDataType_ELSIZE(descr) != 1) return false;
    const char* const dot = std::strrchr(descr->typeobj->tp_name, '.');
    const char* const name = dot ? dot + 1 : descr->typeobj->tp_name;
    for (const NamedCodes& each : code_types)
        if (std::strcmp(each.name, name) == 0) {
            type = each.type;
            return true;
        }
    return false;
}

// Whether kernels can read the arguments without conversion in Python.
bool accepts(const QuantizedCall& call, IndexType& type) {
    CodeType codes;
    if (!accepts_table(call.data, call, codes) || !is_plain(call.indices) || !index_type(array(call.indices), type))
        return false;
    return !call.out || (is_plain(call.out) && same_type(array(call.out), array(call.scales)) &&
                         PyArray_ISWRITEABLE(array(call.out)));
}

// Holds contiguous arrays, whose types and shapes other threads cannot change while this call uses them.
bool hold(PyObject* object, Ref& held) {
    if (!object) return true;
    held = contiguous(object);
#ifdef Py_GIL_DISABLED
    if (held.get() == object) held = Ref(PyArray_View(array(object), nullptr, &PyArray_Type));
#endif
    return static_cast<bool>(held);
}

// Whether the kernel can write to `out`: it is contiguous and does not overlap any input.
bool writes_directly(const PreparedQuantized& prepared) {
    PyObject* const out = prepared.call.out;
    if (!out || !PyArray_ISCARRAY(array(out))) return false;
    StridedTensor written, read;
    describe(out, written);
    for (const Ref* const input :
         {&prepared.data, &prepared.indices, &prepared.table.scales, &prepared.table.zero_points})
        if (*input) {
            describe(input->get(), read);
            if (read.overlaps(written)) return false;
        }
    return true;
}

Outcome check_out(const PreparedQuantized& prepared) {
    const Shape shape = shape_of(array(prepared.call.out));
    if (shape == prepared.plan().output) return Outcome::done;
    return raise_problem(prepared.call.op, {"result_shape", {{"out", shape}, {"result", prepared.plan().output}}},
                         prepared.dtype());
}

Outcome prepare(PreparedQuantized& prepared) {
    const QuantizedCall& call = prepared.call;
    if (!accepts(call, prepared.index_type)) return Outcome::not_plain;
    if (!hold(call.data, prepared.data) || !hold(call.indices, prepared.indices)) return Outcome::failed;
    const Outcome ready =
        prepare_table(call.op, prepared.data.get(), tensor_of(prepared.indices.array()), call, prepared.table);
    if (ready != Outcome::done) return ready;
    prepared.writes_out = writes_directly(prepared);
    return call.out ? check_out(prepared) : Outcome::done;
}

Outcome raise_bad_index(const PreparedQuantized& prepared) {
    const QuantizedCall& call = prepared.call;
    const Rule rule = call.operation.rule;
    const Ref numbers = tuple_of(prepared.plan().numbers), others(Py_BuildValue("{sO}", "data", call.data));
    raise_fault("index_fault", numbers && others
                                   ? Py_BuildValue("((Osiiss)OOO)", call.op, name(Kernel::gather), prepared.plan().axis,
                                                   0, name_of(rule.mode, false), name(rule.negative), numbers.get(),
                                                   prepared.indices.get(), others.get())
                                   : nullptr);
    return Outcome::failed;
}

Outcome carry_out(const PreparedQuantized& prepared, PyObject*& result) {
    const QuantizedCall& call = prepared.call;
    const QuantizedPlan& plan = prepared.plan();
    Ref out = prepared.writes_out ? borrow(call.out) : new_array(prepared.result_type(), plan.output);
    if (!out) return Outcome::failed;
    const Index index = prepared.index();
    const bool large = PyArray_NBYTES(out.array()) + PyArray_NBYTES(prepared.indices.array()) > gil_release_bytes;
    bool good = true;
    if (prepared.writes_out &&  // all checks come before the first write to the caller's array
        !run_part(large, true, size_of(prepared.index_type), [&] { good = index.check(plan.count); }))
        return Outcome::failed;
    const auto gather = [&] {
        good = gather_quantized(plan.table, prepared.table.memory(prepared.data.array()), index, plan.count,
                                bytes(out.array()));
    };
    if (good && !run_part(large, !prepared.writes_out, plan.table.row_bytes(), gather)) return Outcome::failed;
    if (!good) return raise_bad_index(prepared);
    if (call.out && !prepared.writes_out && !copy_data(out.get(), array(call.out), OnSignal::finish))
        return Outcome::failed;
    result = call.out ? Py_NewRef(call.out) : out.release();
    return Outcome::done;
}

Outcome raise_memory(const PreparedQuantized& prepared) {
    return raise_memory(prepared.call.op, prepared.plan().output, prepared.dtype(), "", nullptr);
}

}  // namespace

QuantizedMemory PreparedTable::memory(PyArrayObject* data) const {
    return {bytes(data), bytes(scales.array()), zero_points ? bytes(zero_points.array()) : nullptr};
}

bool accepts_table(PyObject* data, const QuantizedArguments& table, CodeType& codes) {
    for (PyObject* const object : {data, table.scales, table.zero_points})
        if (object && (!is_plain(object) || PyArray_ISBYTESWAPPED(array(object)))) return false;
    return code_type(PyArray_DESCR(array(data)), table.bits, codes) &&
           is_scale_type(element_type(PyArray_DESCR(array(table.scales)))) &&
           (!table.zero_points || same_type(array(table.zero_points), array(data)));
}

Outcome prepare_table(PyObject* op, PyObject* data, const Tensor& indices, const QuantizedArguments& table,
                      PreparedTable& prepared) {
    QuantizedOperation operation = table.operation;
    code_type(PyArray_DESCR(array(data)), table.bits, operation.codes);
    if (PyArray_TYPE(array(data)) == NPY_UINT8 && operation.codes.bits != table.bits)
        return raise_problem(op, {"bits", {{"value", table.bits}}}, nullptr);
    operation.counts_bytes = true;
    if (!hold(table.scales, prepared.scales) || !hold(table.zero_points, prepared.zero_points)) return Outcome::failed;
    const QuantizedTensors tensors{tensor_of(array(data)), indices, tensor_of(prepared.scales.array()),
                                   tensor_of(prepared.zero_points.array())};
    if (const Problem problem = plan_quantized(tensors, operation, prepared.plan))
        return raise_problem(op, problem, reinterpret_cast<PyObject*>(PyArray_DESCR(prepared.scales.array())));
    return Outcome::done;
}

Outcome run(const QuantizedCall& call, PyObject*& result) {
    const ScopedThreadLimit threads(call.threads);
    const ScopedDenormals denormals;
    PreparedQuantized prepared(call);
    Outcome outcome = prepare(prepared);
    if (outcome == Outcome::failed) name_memory_error(call.op);
    if (outcome != Outcome::done) return outcome;
    try {
        outcome = carry_out(prepared, result);
    } catch (const std::bad_alloc&) {
        return raise_memory(prepared);
    }
    if (outcome == Outcome::failed && PyErr_ExceptionMatches(PyExc_MemoryError)) return raise_memory(prepared);
    return outcome;
}

Outcome describe_call(const QuantizedCall& call, PyObject*& result) {
    const ScopedThreadLimit threads(call.threads);
    PreparedQuantized prepared(call);
    if (const Outcome ready = prepare(prepared); ready != Outcome::done) return ready;
    const QuantizedPlan& plan = prepared.plan();
    Facts facts;
    facts.add("rows", saturating_multiply(plan.table.outer, plan.count));
    facts.add("width", plan.table.width);
    facts.add("threads", threads_of_gather(plan.table, plan.count));
    facts.add("result_bytes", count_elements(plan.output) * plan.table.scale_size);
    int64_t copied = call.out && !prepared.writes_out ? count_elements(plan.output) * plan.table.scale_size : 0;
    const auto add_copy = [&](const char* key, PyObject* given, const Ref& held) {
        const bool copies = given && held.get() != given && !is_contiguous(given);
        if (copies) copied += PyArray_NBYTES(held.array());
        facts.add(key, copies);
    };
    add_copy("copies_data", call.data, prepared.data);
    add_copy("copies_indices", call.indices, prepared.indices);
    add_copy("copies_scales", call.scales, prepared.table.scales);
    add_copy("copies_zero_points", call.zero_points, prepared.table.zero_points);
    facts.add("made_apart", call.out && !prepared.writes_out);
    facts.add("copied_bytes", copied);
    add_processor(facts);
    result = facts.take().release();
    return result ? Outcome::done : Outcome::failed;
}

}  // namespace gs
