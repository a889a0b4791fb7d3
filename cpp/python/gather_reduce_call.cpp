// gather_reduce on NumPy arrays.
#include <algorithm>
#include <cstring>
#include <new>

#include "bag_plan.hpp"
#include "call.hpp"
#include "facts.hpp"
#include "float_mode.hpp"
#include "numpy_arrays.hpp"
#include "parallel.hpp"
#include "prepared_call.hpp"
#include "signals.hpp"

namespace gs {
namespace {

using enum BagInput;

// A call with contiguous arrays, checked and planned.
struct PreparedBags {
    explicit PreparedBags(const BagCall& given) : call(given) {}

    BagCall call;                 // its arrays may be replaced
    Ref named_rows, row_numbers;  // data and indices if the named rows were gathered
    Ref arrays[bag_input_count];
    BagTensors tensors;
    PreparedTable table;  // if data is a quantized table
    std::optional<RowDecoder> decoder;
    BagPlan plan;
    GatherReduceInputs inputs{};

    PyArrayObject* array(BagInput input) const { return arrays[static_cast<size_t>(input)].array(); }
    PyArray_Descr* type() const { return PyArray_DESCR(call.table.scales ? table.scales.array() : array(data)); }
    PyObject* dtype() const { return reinterpret_cast<PyObject*>(type()); }
};

PyObject* given(const BagCall& call, BagInput input) { return call.inputs[static_cast<size_t>(input)]; }

// The array with the type of the result.
PyArrayObject* typing_array(const BagCall& call) {
    return array(call.table.scales ? call.table.scales : given(call, data));
}

// Whether an object can be the result for bags without members: 0, or an element or a row of the result's type.
bool accepts_empty(PyObject* empty, const BagCall& call) {
    PyArrayObject* const table = array(given(call, data));
    if (!empty || (PyLong_CheckExact(empty) && PyObject_Not(empty))) return true;  // 0
    if (!PyArray_CheckExact(empty) || !PyArray_ISCARRAY_RO(array(empty)) ||
        !same_type(array(empty), typing_array(call)))
        return false;
    const int rank = PyArray_NDIM(array(empty));
    return rank == 0 || call.table.scales ||  // its shape is checked later
           (rank == PyArray_NDIM(table) - 1 &&
            std::equal(PyArray_DIMS(array(empty)), PyArray_DIMS(array(empty)) + rank, PyArray_DIMS(table) + 1));
}

// Whether kernels can read the arguments without conversion. Their types are checked later.
bool accepts(const BagCall& call) {
    for (PyObject* const object : call.inputs)
        if (object && (!is_plain(object) || PyArray_ISBYTESWAPPED(array(object)))) return false;
    CodeType codes;
    if (call.table.scales && !accepts_table(given(call, data), call.table, codes)) return false;
    if (!accepts_empty(call.empty, call)) return false;
    return !call.out || (is_plain(call.out) && same_type(array(call.out), typing_array(call)) &&
                         PyArray_ISWRITEABLE(array(call.out)));
}

// Holds contiguous arrays, whose types and shapes other threads cannot change while this call uses them. Weights are
// cast to the type of the result.
Outcome hold(PreparedBags& prepared) {
    PyArrayObject* const typing = typing_array(prepared.call);
    for (size_t i = 0; i < bag_input_count; ++i) {
        PyObject* const object = prepared.call.inputs[i];
        if (!object) continue;
#ifdef Py_GIL_DISABLED
        const Ref held(PyArray_View(array(object), nullptr, &PyArray_Type));
        if (!held) return Outcome::failed;
#else
        const Ref held = borrow(object);
#endif
        const bool casts = i == static_cast<size_t>(weights) && !same_type(held.array(), typing) &&
                           can_cast(held.array(), PyArray_DESCR(typing));
        prepared.arrays[i] = casts ? cast(held.array(), PyArray_DESCR(typing)) : contiguous(held.get());
        // Without an exception, a weight does not fit in the type.
        if (!prepared.arrays[i]) return PyErr_Occurred() ? Outcome::failed : Outcome::not_plain;
    }
    return Outcome::done;
}

Outcome check_out(const PreparedBags& prepared) {
    PyObject* const out = prepared.call.out;
    if (!out) return Outcome::done;
    const Shape shape = shape_of(array(out));
    if (shape == prepared.plan.output) return Outcome::done;
    return raise_problem(prepared.call.op, {"result_shape", {{"out", shape}, {"result", prepared.plan.output}}},
                         prepared.dtype());
}

// Whether it may be faster to gather the named rows first. Otherwise data that is not contiguous is copied. The numbers
// of gathered rows could not tell which members are skipped.
bool may_gather_first(const BagCall& call) {
    PyObject *const table = given(call, data), *const rows = given(call, indices);
    return rows && !call.table.scales && call.rule.negative != Negative::skip && !is_contiguous(table) &&
           PyArray_NDIM(array(table)) > 0 && PyArray_SIZE(array(rows)) < PyArray_DIM(array(table), 0) / 2;
}

// Replaces data by the named rows, and indices by the numbers of these. Nothing is replaced if the gather would copy
// data, or if an argument is invalid: the call reports it later.
Outcome gather_first(PreparedBags& prepared) {
    BagCall& call = prepared.call;
    PyObject* const rows = given(call, indices);
    const Ref flat(PyArray_Ravel(array(rows), NPY_CORDER));
    if (!flat) return Outcome::failed;
    Call gather;
    gather.kernel = Kernel::gather;
    gather.op = call.op;
    gather.rule = call.rule;
    gather.data = given(call, data);
    gather.indices = flat.get();
    gather.threads = call.threads;
    PreparedCall prepared_gather(gather);
    if (prepare(prepared_gather) != Outcome::done) {
        PyErr_Clear();
        return Outcome::done;
    }
    bool is_good = false;
    const bool is_large = PyArray_NBYTES(flat.array()) > gil_release_bytes;
    if (!run_part(is_large, true, 8, [&] { is_good = check_indices(prepared_gather.kernel_call); }))
        return Outcome::failed;
    if (prepared_gather.how.copies_data || !is_good) return Outcome::done;
    PyObject* gathered = nullptr;
    if (run(gather, gathered) != Outcome::done) return Outcome::failed;
    prepared.named_rows = Ref(gathered);
    const Ref numbers(PyArray_Arange(0, static_cast<double>(PyArray_SIZE(array(rows))), 1, NPY_INT64));
    PyArray_Dims shape{PyArray_DIMS(array(rows)), PyArray_NDIM(array(rows))};
    if (numbers) prepared.row_numbers = Ref(PyArray_Newshape(numbers.array(), &shape, NPY_CORDER));
    if (!prepared.row_numbers) return Outcome::failed;
    call.inputs[static_cast<size_t>(data)] = prepared.named_rows.get();
    call.inputs[static_cast<size_t>(indices)] = prepared.row_numbers.get();
    return Outcome::done;
}

Outcome prepare(PreparedBags& prepared) {
    const BagCall& call = prepared.call;
    if (!accepts(call)) return Outcome::not_plain;
    if (may_gather_first(call))
        if (const Outcome gathered = gather_first(prepared); gathered != Outcome::done) return gathered;
    if (const Outcome held = hold(prepared); held != Outcome::done) return held;
    const void* memory[bag_input_count] = {};
    for (size_t i = 0; i < bag_input_count; ++i)
        if (PyArrayObject* const held = prepared.arrays[i].array()) {
            prepared.tensors[i] = tensor_of(held);
            memory[i] = PyArray_DATA(held);
        }
    if (call.table.scales) {  // the bags see a table of numbers
        const Tensor none{true, DType::int64, 8, Shape{0}};
        const Outcome ready =
            prepare_table(call.op, prepared.arrays[static_cast<size_t>(data)].get(), none, call.table, prepared.table);
        if (ready != Outcome::done) return ready;
        prepared.decoder.emplace(prepared.table.plan.table, prepared.table.memory(prepared.array(data)));
        const QuantizedTable& table = prepared.table.plan.table;
        const Shape& numbers = prepared.table.plan.numbers;
        prepared.tensors[data] = {true, table.scale_type, table.scale_size, numbers};
        if (call.empty && PyArray_CheckExact(call.empty) && PyArray_NDIM(array(call.empty)) > 0) {
            const Shape row(numbers.dim + 1, numbers.rank - 1), shape = shape_of(array(call.empty));
            if (!(shape == row))
                return raise_problem(call.op, {"default_shape", {{"shape", shape}, {"row", row}}}, nullptr);
        }
    }
    if (!have_fitting_types(prepared.tensors, call)) return Outcome::not_plain;
    BagPlan& plan = prepared.plan;
    plan.call.embedding_rules = call.embedding_rules;
    if (const Problem problem = plan_bags(prepared.tensors, call, call.num_segments, plan))
        return raise_problem(call.op, problem, prepared.dtype());
    GatherReduceInputs& inputs = prepared.inputs;
    inputs = inputs_of(prepared.tensors, plan, memory);
    if (prepared.decoder) inputs.decoder = &*prepared.decoder;
    if (call.empty && PyArray_CheckExact(call.empty)) {
        PyArrayObject* const empty = array(call.empty);
        (PyArray_NDIM(empty) == 0 ? inputs.empty : inputs.empty_row) = bytes(empty);
    }
    return Outcome::done;
}

// Raises the exception for a result for which there is not enough memory. Names what decides the number of bags.
Outcome raise_memory(const PreparedBags& prepared) {
    const BagCall& call = prepared.call;
    if (!prepared.arrays[static_cast<size_t>(data)]) {
        PyErr_NoMemory();
        name_memory_error(call.op);
        return Outcome::failed;
    }
    Shape result = prepared.plan.output;
    if (prepared.plan.call.form != BagForm::segment_ids)
        return raise_memory(call.op, result, prepared.dtype(), "", nullptr);
    result.dim[0] = std::max<int64_t>(prepared.plan.call.bags, 0);
    if (!call.num_segments)
        return raise_memory(call.op, result, prepared.dtype(), bag_input_names[static_cast<size_t>(segment_ids)],
                            prepared.arrays[static_cast<size_t>(segment_ids)].get());
    const Ref number(PyLong_FromLongLong(*call.num_segments));
    return raise_memory(call.op, result, prepared.dtype(), "num_segments", number.get());
}

// Warns about a result with a size that nobody may have intended. False: the warning is an exception, or there is not
// enough memory.
bool check_size(const PreparedBags& prepared) {
    const BagPlan& plan = prepared.plan;
    const int64_t size = saturating_multiply(count_elements(plan.output), plan.call.combine.item_size);
    if (size <= checked_result_bytes) return true;
    int64_t given = 0;
    for (const Ref& array : prepared.arrays)
        if (array) given += PyArray_NBYTES(array.array());
    const Ref shape = tuple_of(plan.output);
    return report("check_size",
                  shape ? Py_BuildValue("(OOOsOsL)", prepared.call.op, shape.get(), prepared.dtype(), "segment_ids",
                                        prepared.arrays[static_cast<size_t>(segment_ids)].get(), "num_segments",
                                        static_cast<long long>(given))
                        : nullptr);
}

// Raises the exception for bad values. errors.py finds them.
Outcome raise_values(const PreparedBags& prepared, BagFault fault) {
    const BagCall& call = prepared.call;
    const GatherReduce& bags = prepared.plan.call;
    if (fault == BagFault::indices) {
        const auto rows = static_cast<long long>(bags.data_rows);
        PyObject* const given = prepared.arrays[static_cast<size_t>(indices)].get();
        if (call.embedding_rules)
            raise_fault("range_fault", Py_BuildValue("(OsOLss)", call.op, "indices", given, rows, "table_rows",
                                                     name(call.rule.negative)));
        else
            raise_fault("index_fault",
                        Py_BuildValue("((Osiiss)(L)O)", call.op, name(Kernel::gather), 0, 0,
                                      name_of(call.rule.mode, false), name(call.rule.negative), rows, given));
        return Outcome::failed;
    }
    if (fault == BagFault::too_large && prepared.arrays[static_cast<size_t>(data)]) return raise_memory(prepared);
    if (fault == BagFault::too_large)
        return raise_problem(call.op, {"too_large", {{"shapes", std::to_string(bags.bags) + " segments"}}}, nullptr);
    const BagInput input = bag_input_of(bags.form);
    if (fault == BagFault::offsets || fault == BagFault::segment_ids) {
        const bool ids = fault == BagFault::segment_ids;
        raise_fault("range_fault",
                    Py_BuildValue("(OsOLss)", call.op, bag_input_names[static_cast<size_t>(input)],
                                  prepared.arrays[static_cast<size_t>(input)].get(),
                                  static_cast<long long>(ids ? bags.bags : bags.members + 1),
                                  ids ? "segments" : "members", name((ids ? bags.segment_rule() : strict).negative)));
        return Outcome::failed;
    }
    if (fault == BagFault::changed) return raise_problem(call.op, {"changed_indices"}, nullptr);
    return raise_problem(call.op, find_bag_problem(prepared.plan, prepared.inputs.bag_values, prepared.inputs.bag_type),
                         nullptr);
}

// Completes the plan of a call whose bags were found.
Outcome complete_plan(PreparedBags& prepared, bool were_unknown) {
    if (were_unknown)
        if (const Problem problem = set_bags(prepared.tensors, prepared.plan.call.bags, prepared.plan))
            return std::strcmp(problem.error, "too_large") == 0
                       ? raise_memory(prepared)
                       : raise_problem(prepared.call.op, problem, prepared.dtype());
    if (were_unknown && !prepared.call.out && !check_size(prepared)) return Outcome::failed;
    return check_out(prepared);
}

Ref new_output(const PreparedBags& prepared) {
    Ref out = new_array(prepared.type(), prepared.plan.output);
    PyObject* const first = prepared.arrays[static_cast<size_t>(init)].get();
    return !out || !first || copy_data(first, out.array(), OnSignal::stop) ? std::move(out) : Ref();
}

Outcome carry_out(PreparedBags& prepared, PyObject*& result) {
    GatherReduce& bags = prepared.plan.call;
    const GatherReduceInputs& inputs = prepared.inputs;
    const bool were_unknown = bags.bags == unknown_bags;
    const int64_t row_size = saturating_multiply(bags.width, bags.combine.item_size);
    const int64_t numbers = saturating_multiply(saturating_add(bags.members, std::max<int64_t>(bags.bags, 0)), 8);
    FoundBags found;
    BagFault fault = BagFault::none;
    const bool is_empty = bags.width == 0;
    bool large = saturating_add(numbers, saturating_multiply(bags.members, row_size)) > gil_release_bytes;
    bool is_planned = !were_unknown;
    if (were_unknown && !is_empty && !large) {  // a large id makes a call large that has few members
        const int64_t count = count_bags(inputs, bags.members);
        if (count > gil_release_bytes / 8 && count < INT64_MAX) {
            bags.bags = count;
            if (const Outcome planned = complete_plan(prepared, true); planned != Outcome::done) return planned;
            large = is_planned = true;
        }
    }
    if (!run_part(large, true, 8,
                  [&] { fault = is_empty ? check_inputs(bags, inputs) : find_bags(bags, inputs, found); }))
        return Outcome::failed;
    if (fault != BagFault::none) return raise_values(prepared, fault);
    if (const Outcome planned = complete_plan(prepared, !is_planned); planned != Outcome::done) return planned;
    Ref out = new_output(prepared);
    if (!out) return PyErr_ExceptionMatches(PyExc_MemoryError) ? raise_memory(prepared) : Outcome::failed;
    const bool is_large = large || PyArray_NBYTES(out.array()) > gil_release_bytes;
    if (!is_empty &&
        !run_part(is_large, true, row_size, [&] { fault = reduce_found(bags, inputs, found, bytes(out.array())); }))
        return Outcome::failed;
    if (fault != BagFault::none) return raise_values(prepared, fault);
    result = out.release();
    return Outcome::done;
}

}  // namespace

Outcome run(const BagCall& call, PyObject*& result) {
    const ScopedThreadLimit threads(call.threads);
    const ScopedDenormals denormals;
    PreparedBags prepared(call);
    try {
        if (const Outcome ready = prepare(prepared); ready != Outcome::done) {
            if (ready == Outcome::failed) name_memory_error(call.op);
            return ready;
        }
        if (const Outcome done = carry_out(prepared, result); done != Outcome::done) return done;
    } catch (const std::bad_alloc&) {
        return raise_memory(prepared);
    }
    if (!call.out) return Outcome::done;
    const Ref made(std::exchange(result, nullptr));
    // Other threads may have changed the shape of `out`.
    if (const Outcome checked = check_out(prepared); checked != Outcome::done) return checked;
    if (!copy_data(made.get(), array(call.out), OnSignal::finish)) return Outcome::failed;
    result = Py_NewRef(call.out);
    return Outcome::done;
}

Outcome describe_call(const BagCall& call, PyObject*& result) {
    const ScopedThreadLimit threads(call.threads);
    PreparedBags prepared(call);
    try {
        if (const Outcome ready = prepare(prepared); ready != Outcome::done) return ready;
        GatherReduce& bags = prepared.plan.call;
        const bool were_unknown = bags.bags == unknown_bags;
        GatherReduceInputs bag_inputs = prepared.inputs;  // the values of indices are not checked
        bag_inputs.indices = nullptr;
        bag_inputs.weights = nullptr;
        FoundBags found;
        const bool is_empty = bags.width == 0;
        const BagFault fault = is_empty ? check_inputs(bags, bag_inputs) : find_bags(bags, bag_inputs, found);
        if (fault != BagFault::none) return raise_values(prepared, fault);
        if (const Outcome planned = complete_plan(prepared, were_unknown); planned != Outcome::done) return planned;
        const GatherReduceInputs& inputs = prepared.inputs;
        bool has_negative = false;
        if (inputs.indices && inputs.index_type == IndexType::int64) {
            const auto* const values = static_cast<const int64_t*>(inputs.indices);
            has_negative = std::any_of(values, values + bags.members, [](int64_t value) { return value < 0; });
        }
        BagCosts costs{bags.members * 8, {}};
        if (!is_empty) costs = estimate_costs(bags, inputs, found, has_negative);
        Facts facts;
        facts.add("bags", bags.bags);
        facts.add("members", bags.members);
        facts.add("width", bags.width);
        facts.add("sorts_members", !found.is_sorted);
        facts.add("threads", costs.route.threads);
        facts.add("divides_columns", costs.route.divides_columns);
        facts.add("gathers_rows", costs.route.gathers_rows);
        facts.add("kernel_bytes", costs.route.scratch);
        facts.add("scratch_bytes", costs.scratch);
        facts.add("result_bytes", count_elements(prepared.plan.output) * bags.combine.item_size);
        const bool gathered = static_cast<bool>(prepared.named_rows);
        facts.add("gathers_first", gathered);
        int64_t copied = 0;
        if (gathered)
            copied = PyArray_NBYTES(prepared.named_rows.array()) + PyArray_NBYTES(prepared.row_numbers.array());
        for (size_t i = 0; i < bag_input_count; ++i) {
            const bool is_replaced = gathered && (i == static_cast<size_t>(data) || i == static_cast<size_t>(indices));
            const bool copies = prepared.arrays[i] && prepared.arrays[i].get() != call.inputs[i] &&
                                !is_contiguous(call.inputs[i]) && !is_replaced;
            if (copies) copied += PyArray_NBYTES(prepared.arrays[i].array());
            facts.add((std::string("copies_") + bag_input_names[i]).c_str(), copies);
        }
        facts.add("copied_bytes", copied);
        add_processor(facts);
        result = facts.take().release();
    } catch (const std::bad_alloc&) {
        return raise_memory(prepared);
    }
    return result ? Outcome::done : Outcome::failed;
}

// find_bags(op, members, has_indices, offsets, segment_ids, indptr, num_segments, embedding_rules)
PyObject* find_bags_call(PyObject*, PyObject* const* arguments, Py_ssize_t n) {
    const int negative = n == 9 ? find_name(arguments[8], negative_names) : -1;
    if (negative < 0 || !PyTuple_Check(arguments[1]) || PyTuple_GET_SIZE(arguments[1]) > max_rank ||
        !PyBool_Check(arguments[2]) || !PyBool_Check(arguments[7]))
        return refuse(
            "find_bags() takes the shape of the members, two bools, the inputs that define the bags, and a rule");
    Shape members;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments[1]); ++i) {
        members.push(PyLong_AsLongLong(PyTuple_GET_ITEM(arguments[1], i)));
        if (PyErr_Occurred()) return nullptr;
    }
    BagCall call;
    call.op = arguments[0];
    call.reduction = Reduction::add;
    call.embedding_rules = arguments[7] == Py_True;
    call.rule.negative = static_cast<Negative>(negative);
    if (!read_num_segments(call.op, arguments[6], call.num_segments)) return nullptr;
    PreparedBags prepared(call);
    constexpr BagInput bag_inputs[] = {offsets, segment_ids, indptr};
    const void* memory[bag_input_count] = {};
    for (int i = 0; i < 3; ++i) {
        PyObject* const object = arguments[3 + i];
        IndexType type;
        if (object == Py_None) continue;
        if (!is_plain(object) || !index_type(array(object), type)) return refuse("find_bags() takes plain integers");
        const auto input = static_cast<size_t>(bag_inputs[i]);
        prepared.arrays[input] = contiguous(object);
        if (!prepared.arrays[input]) return nullptr;
        prepared.tensors[input] = tensor_of(prepared.arrays[input].array());
        memory[input] = PyArray_DATA(prepared.arrays[input].array());
    }
    const bool has_indices = arguments[2] == Py_True;
    prepared.tensors[data] = {true, DType::int8, 1, has_indices ? Shape{0} : members};
    prepared.tensors[indices] = {has_indices, DType::int64, 8, members};
    BagPlan& plan = prepared.plan;
    GatherReduce& bags = plan.call;
    bags.embedding_rules = call.embedding_rules;
    try {
        if (const Problem problem = plan_bags(prepared.tensors, call, call.num_segments, plan))
            return raise_problem(call.op, problem, nullptr), nullptr;
        GatherReduceInputs& inputs = prepared.inputs;
        inputs = inputs_of(prepared.tensors, plan, memory);
        inputs.indices = nullptr;
        FoundBags found;
        BagFault fault = BagFault::none;
        if (!run_part(true, true, 8, [&] { fault = find_bags(bags, inputs, found); })) return nullptr;
        if (fault != BagFault::none) return raise_values(prepared, fault), nullptr;
        const Ref int64(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_INT64)));
        auto* const type = reinterpret_cast<PyArray_Descr*>(int64.get());
        const auto copy = [&](const int64_t* values, int64_t count) {
            Ref made = new_array(type, Shape{count});
            if (made) std::copy_n(values, count, static_cast<int64_t*>(PyArray_DATA(made.array())));
            return made;
        };
        Ref starts = copy(found.starts, bags.bags + 1);
        Ref order = found.is_sorted ? borrow(Py_None) : copy(found.rows, found.starts[bags.bags]);
        if (bags.form == BagForm::segment_ids) plan.output.dim[0] = bags.bags;
        Ref shape = tuple_of(Shape(plan.output.dim, bags.form == BagForm::last_dimension ? members.rank - 1 : 1));
        if (!starts || !order || !shape) return nullptr;
        return Py_BuildValue("(NNN)", shape.release(), starts.release(), order.release());
    } catch (const std::bad_alloc&) {
        const Ref type(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_INT64)));
        PyObject* const ids = prepared.arrays[static_cast<size_t>(segment_ids)].get();
        return raise_memory(call.op, Shape{std::max<int64_t>(bags.bags, 0)}, type.get(), "segment_ids", ids), nullptr;
    }
}

}  // namespace gs
