// Shapes for the nodes behind, before anything is computed.
#pragma once

#include "host.hpp"
#include "versions.hpp"

namespace gs::ort {

// Sets the shape of the output if the shapes of the inputs tell it, and the type with it. Else ONNX Runtime sets the
// type. Nothing is refused: the call says what is wrong in better words.
void infer_shape(const Host&, const Operator&, ShapeContext*);

}  // namespace gs::ort
