"""The declarations of DLPack are those of PyTorch's header."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.support.declarations import compare_structs, compile_conditions, find_own_header

INCLUDE = Path(torch.__file__).parent / "include"

# Our struct, DLPack's struct, and pairs of their fields. A single name is that of both.
STRUCTS = {
    ("DataType", "DLDataType"): "code bits lanes",
    ("Tensor", "DLTensor"): "data rank:ndim type:dtype shape strides byte_offset device_type:device.device_type "
    "device_id:device.device_id",
    ("Version", "DLPackVersion"): "major minor",
    ("ManagedTensor", "DLManagedTensorVersioned"): "version context:manager_ctx deleter flags tensor:dl_tensor",
    ("ExchangeApi", "DLPackExchangeAPI"): "version:header.version previous:header.prev_api "
    "allocate:managed_tensor_allocator managed_from_object:managed_tensor_from_py_object_no_sync "
    "managed_to_object:managed_tensor_to_py_object_no_sync tensor_from_object:dltensor_from_py_object_no_sync "
    "current_stream:current_work_stream",
}
VALUES = {
    "cpu": "kDLCPU",
    "integers": "kDLInt",
    "unsigned_integers": "kDLUInt",
    "floats": "kDLFloat",
    "opaque": "kDLOpaqueHandle",
    "bfloats": "kDLBfloat",
    "complexes": "kDLComplex",
    "booleans": "kDLBool",
}


def test_declarations() -> None:
    conditions = [f"static_cast<int>(gs::dlpack::{own}) == static_cast<int>({its})" for own, its in VALUES.items()]
    conditions += compare_structs("gs::dlpack", STRUCTS)
    # Fields of fields have no size in an expression of this form; their offsets are enough.
    conditions = [each for each in conditions if not each.startswith("sizeof") or "." not in each]
    done = compile_conditions(find_own_header("dlpack.hpp"), "ATen/dlpack.h", INCLUDE, conditions)
    assert done.returncode == 0, done.stderr


def test_a_wrong_declaration_is_found() -> None:
    condition = "offsetof(gs::dlpack::Tensor, data) == offsetof(DLTensor, shape)"
    done = compile_conditions(find_own_header("dlpack.hpp"), "ATen/dlpack.h", INCLUDE, [condition])
    assert "static assertion failed" in done.stderr
