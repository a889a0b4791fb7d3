"""The declarations of XLA's C interface for foreign functions are those of jaxlib's header."""

from __future__ import annotations

import subprocess
from pathlib import Path

import jaxlib

from tests.support.declarations import compare_structs, compile_conditions, find_own_header

INCLUDE = Path(jaxlib.__file__).parent / "include"

# Our struct, XLA's struct, and pairs of their fields. A single name is that of both.
STRUCTS = {
    ("Extension", "XLA_FFI_Extension_Base"): "struct_size type next",
    ("Version", "XLA_FFI_Api_Version"): "struct_size extensions:extension_start major:major_version "
    "minor:minor_version",
    ("Metadata", "XLA_FFI_Metadata"): "struct_size version:api_version traits",
    ("MetadataExtension", "XLA_FFI_Metadata_Extension"): "base:extension_base metadata",
    ("ErrorArguments", "XLA_FFI_Error_Create_Args"): "struct_size extensions:extension_start message code:errc",
    ("Api", "XLA_FFI_Api"): "struct_size extensions:extension_start version:api_version "
    "internal:internal_api create_error:XLA_FFI_Error_Create",
    ("Buffer", "XLA_FFI_Buffer"): "struct_size extensions:extension_start type:dtype data rank dims",
    ("Buffers", "XLA_FFI_Args"): "struct_size extensions:extension_start count:size types buffers:args",
    ("Buffers", "XLA_FFI_Rets"): "count:size types buffers:rets",
    ("Text", "XLA_FFI_ByteSpan"): "characters:ptr length:len",
    ("Scalar", "XLA_FFI_Scalar"): "type:dtype value",
    ("Attributes", "XLA_FFI_Attrs"): "struct_size extensions:extension_start count:size types names values:attrs",
    ("CallFrame", "XLA_FFI_CallFrame"): "struct_size extensions:extension_start api context:ctx "
    "stage arguments:args results:rets attributes:attrs",
}
VALUES = {
    "metadata_extension": "XLA_FFI_Extension_Metadata",
    "invalid_argument": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "resource_exhausted": "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED",
    "out_of_range": "XLA_FFI_Error_Code_OUT_OF_RANGE",
    "scalar_attribute": "XLA_FFI_AttrType_SCALAR",
    "string_attribute": "XLA_FFI_AttrType_STRING",
    "execute_stage": "XLA_FFI_ExecutionStage_EXECUTE",
    **{
        name: f"XLA_FFI_DataType_{name.upper()}"
        for name in (
            *("pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bf16", "c64", "c128"),
            *("f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e4m3", "f8e3m4", "f8e8m0fnu"),
        )
    },
}


def check(conditions: list[str]) -> subprocess.CompletedProcess[str]:
    return compile_conditions(find_own_header("xla_ffi.hpp"), "xla/ffi/api/c_api.h", INCLUDE, conditions)


def test_declarations() -> None:
    values = [f"static_cast<int>(gs::xla::{own}) == static_cast<int>({its})" for own, its in VALUES.items()]
    done = check([*values, *compare_structs("gs::xla", STRUCTS), "XLA_FFI_API_MAJOR == 0"])
    assert done.returncode == 0, done.stderr


def test_a_wrong_declaration_is_found() -> None:
    done = check(["offsetof(gs::xla::Api, create_error) == offsetof(XLA_FFI_Api, internal_api)"])
    assert "static assertion failed" in done.stderr
