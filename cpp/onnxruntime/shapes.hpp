// Shapes for the nodes behind, before anything is computed.
#pragma once

#include "host.hpp"
#include "versions.hpp"

namespace gs::ort {

// Sets the shape of the output, and the type with it, if they follow from the inputs. Else ONNX Runtime sets the type.
// Nothing is refused here: messages of the call itself are better.
void infer_shape(const Host&, const Operator&, ShapeContext*);

}  // namespace gs::ort
