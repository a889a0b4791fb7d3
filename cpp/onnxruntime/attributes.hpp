// The attributes of a node, read and checked once.
#pragma once

#include "host.hpp"
#include "versions.hpp"

namespace gs::ort {

struct Attributes {
    const Version* version;
    std::string name;                   // the name of the operator in messages
    gatherscatter_operation operation;  // without its name
    bool is_circular = false;
    bool keeps_dims = false;
};

// Throws Refusal for attributes that the version does not have.
Attributes read_attributes(const Host&, const KernelInfo*, const Operator&);

}  // namespace gs::ort
