// Facts about the core, as Python objects.
#pragma once

#include "kernel_call.hpp"
#include "numpy_arrays.hpp"

namespace gs {

Ref tuple_of(const Shape&);

// A dict of facts. After a failure nothing is added, and an exception is set.
class Facts {
  public:
    Facts() : dict_(PyDict_New()) {}
    void add(const char* key, Ref value) {
        if (dict_ && (!value || PyDict_SetItemString(dict_.get(), key, value.get()) < 0)) dict_ = Ref();
    }
    void add(const char* key, const char* value) { add(key, Ref(PyUnicode_FromString(value))); }
    void add(const char* key, bool value) { add(key, Ref(PyBool_FromLong(value))); }
    void add(const char* key, int value) { add(key, Ref(PyLong_FromLong(value))); }
    void add(const char* key, int64_t value) { add(key, Ref(PyLong_FromLongLong(value))); }
    void add(const char* key, const Shape& value) { add(key, tuple_of(value)); }
    Ref take() { return std::move(dict_); }

  private:
    Ref dict_;
};

Facts facts_of(const Plan&);

// Adds the facts about the processor.
void add_processor(Facts&);

}  // namespace gs
