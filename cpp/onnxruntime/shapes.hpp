// Infers output shapes for later nodes, before anything is computed.
#pragma once

#include "host.hpp"
#include "versions.hpp"

namespace gs::ort {

// Sets the shape and type of the output if they follow from the inputs. Otherwise, ONNX Runtime sets the type. Errors
// are not reported here, because the call itself gives better messages.
void infer_shape(const Host&, const Operator&, ShapeContext*);

}  // namespace gs::ort
