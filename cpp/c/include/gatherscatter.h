/* The C interface of gatherscatter: gathers, scatters, gather-and-reduce, and gathers from quantized tables, on
 * contiguous tensors.
 *
 * A call has two steps. `gatherscatter_plan_create` checks types, shapes and attributes, and computes the shape of the
 * output. `gatherscatter_plan_run` checks the indices and computes the output. A plan can be run any number of times.
 *
 * Ownership: the caller owns all tensors. The library keeps no pointer to them after a function has returned. The
 *   caller also owns each plan and each status that it receives, and must release it.
 * Threads: all functions can be called from several threads at the same time. Several threads can run the same plan at
 *   the same time. Results are bit-for-bit identical for any number of threads.
 * Errors: functions that can fail return a status. NULL means success. A call that fails does not write to the output,
 *   unless the description of the function says otherwise. Invalid arguments never make the library read or write out
 *   of bounds, as long as the tensors are as large as described.
 * Versions: GATHERSCATTER_C_VERSION is the version of this interface. Later versions only add functions, and fields at
 *   the ends of structs that begin with `struct_size`. A program that was compiled with version n works with every
 *   library whose `gatherscatter_c_version()` is at least n. Fields that the program's structs lack get their defaults.
 */
#ifndef GATHERSCATTER_H
#define GATHERSCATTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(GATHERSCATTER_BUILD)
#define GATHERSCATTER_FUNCTION __declspec(dllexport)
#elif defined(_WIN32)
#define GATHERSCATTER_FUNCTION __declspec(dllimport)
#else
#define GATHERSCATTER_FUNCTION __attribute__((visibility("default")))
#endif

#define GATHERSCATTER_C_VERSION 2

/* Returns the version of this interface that the library implements. */
GATHERSCATTER_FUNCTION uint32_t gatherscatter_c_version(void);

/* ---- Errors */

typedef struct gatherscatter_status gatherscatter_status;

typedef enum gatherscatter_code {
    GATHERSCATTER_OK = 0,           /* success: the status is NULL */
    GATHERSCATTER_TYPE_ERROR = 1,   /* an element type that the call does not accept */
    GATHERSCATTER_VALUE_ERROR = 2,  /* invalid shapes, ranks or attributes */
    GATHERSCATTER_INDEX_ERROR = 3,  /* an index that is out of range */
    GATHERSCATTER_OUT_OF_MEMORY = 4 /* memory could not be allocated */
} gatherscatter_code;

/* Returns the code of a status: GATHERSCATTER_OK for NULL. */
GATHERSCATTER_FUNCTION gatherscatter_code gatherscatter_status_code(const gatherscatter_status* status);

/* Returns the message of a status: one sentence in UTF-8 that names the operation, the input and the position. It is
 * valid until the status is released. For NULL, the message is the empty string. */
GATHERSCATTER_FUNCTION const char* gatherscatter_status_message(const gatherscatter_status* status);

/* Frees a status. NULL is allowed. */
GATHERSCATTER_FUNCTION void gatherscatter_status_release(gatherscatter_status* status);

/* ---- Tensors and operations */

typedef enum gatherscatter_type {
    GATHERSCATTER_OPAQUE = 0, /* elements of any size that are only moved, without reductions */
    GATHERSCATTER_BOOL = 1,
    GATHERSCATTER_INT8 = 2,
    GATHERSCATTER_INT16 = 3,
    GATHERSCATTER_INT32 = 4,
    GATHERSCATTER_INT64 = 5,
    GATHERSCATTER_UINT8 = 6,
    GATHERSCATTER_UINT16 = 7,
    GATHERSCATTER_UINT32 = 8,
    GATHERSCATTER_UINT64 = 9,
    GATHERSCATTER_FLOAT16 = 10,
    GATHERSCATTER_BFLOAT16 = 11,
    GATHERSCATTER_FLOAT32 = 12,
    GATHERSCATTER_FLOAT64 = 13,
    GATHERSCATTER_COMPLEX64 = 14,
    GATHERSCATTER_COMPLEX128 = 15,
    /* Since version 2. Codes of quantized tables, for data and zero_points of gather_quantized only. For other kernels,
     * elements of 8 bits are opaque. */
    GATHERSCATTER_INT4 = 16,
    GATHERSCATTER_UINT4 = 17,
    GATHERSCATTER_FLOAT8_E4M3FN = 18,
    GATHERSCATTER_FLOAT8_E4M3FNUZ = 19,
    GATHERSCATTER_FLOAT8_E5M2 = 20,
    GATHERSCATTER_FLOAT8_E5M2FNUZ = 21,
    GATHERSCATTER_FLOAT4_E2M1FN = 22
} gatherscatter_type;

/* Describes a tensor, without its memory. Tensors are contiguous, row-major, and aligned for their element type. */
typedef struct gatherscatter_tensor {
    int32_t type;         /* a gatherscatter_type */
    int32_t rank;         /* 0 to 64, or -1 if the input is absent */
    const int64_t* shape; /* the sizes of the `rank` dimensions */
    int64_t item_size;    /* bytes per element; only read for GATHERSCATTER_OPAQUE */
} gatherscatter_tensor;

/* The comments list the inputs of each kernel, in order. Inputs in brackets are optional. */
typedef enum gatherscatter_kernel {
    GATHERSCATTER_GATHER = 0,           /* data, indices */
    GATHERSCATTER_GATHER_ELEMENTS = 1,  /* data, indices */
    GATHERSCATTER_GATHER_ND = 2,        /* data, indices */
    GATHERSCATTER_SCATTER_UPDATE = 3,   /* data, indices, updates */
    GATHERSCATTER_SCATTER_ELEMENTS = 4, /* data, indices, updates */
    GATHERSCATTER_SCATTER_ND = 5,       /* data, indices, updates */
    /* data, indices, [offsets], [segment_ids], [weights], [init], [indptr]. Exactly one of these defines the bags:
     * `offsets`, `segment_ids`, `indptr`, or `indices` with at least two dimensions. In the last case, the last
     * dimension of `indices` lists the members of a bag. `indptr` has the start of each bag, then the number of
     * members, as in a CSR matrix. `offsets` has only the starts. */
    GATHERSCATTER_GATHER_REDUCE = 6,
    /* Since version 2: data, indices, scales, [zero_points]. Rows of a table whose numbers are stored as codes:
     * number = (code - zero point) * scale. `data` holds codes: GATHERSCATTER_UINT8, GATHERSCATTER_INT8, or one of the
     * types for codes. `zero_points` has the type of data. Without zero_points, integers have the zero point 0, or
     * 2^(bits-1) for GATHERSCATTER_UINT8. Floats do not have zero_points. `scales` has float32, float16 or bfloat16,
     * which is also the type of the output. Its shape is that of the table, with one element for each block along
     * `quantize_axis`; along other axes, a size can also be 1. `zero_points` has the same shape.
     * In memory, a byte of GATHERSCATTER_UINT8 holds 8 / `bits` codes, the first one in the lowest bits. The last sizes
     * of data and zero_points count bytes. For all other types, sizes count codes, and `packed` says how a byte holds
     * codes of 4 bits. */
    GATHERSCATTER_GATHER_QUANTIZED = 7
} gatherscatter_kernel;

typedef enum gatherscatter_reduction {
    GATHERSCATTER_NONE = 0,
    GATHERSCATTER_ADD = 1,
    GATHERSCATTER_SUB = 2,
    GATHERSCATTER_MUL = 3,
    GATHERSCATTER_MIN = 4,
    GATHERSCATTER_MAX = 5,
    GATHERSCATTER_MEAN = 6
} gatherscatter_reduction;

/* How floats and complex numbers are accumulated. */
typedef enum gatherscatter_accumulate {
    GATHERSCATTER_STEP = 0, /* in the element type, rounded after each step */
    GATHERSCATTER_WIDE = 1, /* in a wider type, rounded once */
    GATHERSCATTER_EXACT = 2 /* exactly, rounded once */
} gatherscatter_accumulate;

/* How an index that is out of range is handled. */
typedef enum gatherscatter_mode {
    GATHERSCATTER_RAISE = 0, /* the call fails */
    GATHERSCATTER_WRAP = 1,  /* the index is taken modulo the size */
    GATHERSCATTER_CLIP = 2,  /* the nearest valid index is used */
    GATHERSCATTER_SKIP = 3   /* a gather fills with zeros; a scatter drops the update */
} gatherscatter_mode;

/* How a negative index is handled. Its mode is for indices that are too large. */
typedef enum gatherscatter_negative {
    GATHERSCATTER_NEGATIVE_ERROR = 0, /* the call fails */
    GATHERSCATTER_NEGATIVE_END = 1,   /* the index counts from the end. With GATHERSCATTER_WRAP and GATHERSCATTER_CLIP,
                                       * the mode is also for negative indices */
    GATHERSCATTER_NEGATIVE_SKIP = 2   /* a gather fills with zeros; a scatter drops the update */
} gatherscatter_negative;

/* Describes an operation. `gatherscatter_operation_init` sets struct_size, the kernel, and the default of every other
 * field. An option that the kernel does not have must keep its default. */
typedef struct gatherscatter_operation {
    size_t struct_size; /* sizeof(gatherscatter_operation) */
    int32_t kernel;     /* a gatherscatter_kernel */
    /* The name of the operation in messages. Default: NULL, for the name of the kernel. */
    const char* name;
    /* Negative values count from the end. The ND kernels and gather_reduce do not use it. Default: 0. */
    int64_t axis;
    /* For gather, gather_nd and scatter_update only. Default: 0. */
    int64_t batch_dims;
    /* A gatherscatter_mode. Default: GATHERSCATTER_RAISE. */
    int32_t mode;
    /* A gatherscatter_negative. Default: GATHERSCATTER_NEGATIVE_END. */
    int32_t negative;
    /* A gatherscatter_reduction, for scatters and gather_reduce. Default: GATHERSCATTER_NONE, or GATHERSCATTER_ADD for
     * gather_reduce. */
    int32_t reduction;
    /* For scatters: 1: data takes part in the reduction. 0: it does not. Default: 1. */
    int32_t include_self;
    /* A gatherscatter_accumulate. Default: GATHERSCATTER_STEP. */
    int32_t accumulate;
    /* The number of bags of gather_reduce, for `segment_ids` without `init`. Default: -1, for not given. */
    int64_t num_segments;
    /* Since version 2. The following fields are for gather_quantized only.
     * The axis along which blocks of numbers share a scale. Negative values count from the end. Default: -1. */
    int64_t quantize_axis;
    /* The length of a block. 0: the whole axis is one block. Default: 128. */
    int64_t block_size;
    /* The bits of a code in data of GATHERSCATTER_UINT8: 2, 4 or 8. Default: 4. */
    int64_t bits;
    /* For types of 4 bits: 1: a byte holds two codes, the first one in the lower half. Rows follow each other without
     * padding, as in tensors of ONNX. A tensor takes half as many bytes as it has codes, rounded up. 0: the lower half
     * of each byte holds one code. Default: 1. */
    int32_t packed;
} gatherscatter_operation;

/* Sets all fields of an operation. Pass sizeof(gatherscatter_operation) as `struct_size`. The function writes at most
 * that number of bytes, so a program that was compiled with an earlier version of the struct is safe. */
GATHERSCATTER_FUNCTION void gatherscatter_operation_init(gatherscatter_operation* operation, size_t struct_size,
                                                         int32_t kernel);

/* ---- Plans */

typedef struct gatherscatter_plan gatherscatter_plan;

/* Checks a call and creates its plan. `inputs` points to `count` tensors in the order of the kernel. Optional inputs at
 * the end can be omitted. On success, *plan is the new plan. On failure, it is NULL.
 *
 * Indices, offsets, segment ids and indptr can have any integer type. All other inputs must have the type of data,
 * except scales. */
GATHERSCATTER_FUNCTION gatherscatter_status* gatherscatter_plan_create(const gatherscatter_operation* operation,
                                                                       const gatherscatter_tensor* inputs, size_t count,
                                                                       gatherscatter_plan** plan);

/* Returns the shape of the output and stores its rank in *rank. The shape is valid until the plan is released. The
 * output has the type of data, or that of scales. */
GATHERSCATTER_FUNCTION const int64_t* gatherscatter_plan_shape(const gatherscatter_plan* plan, int32_t* rank);

/* Frees a plan. NULL is allowed. No thread may be running the plan. */
GATHERSCATTER_FUNCTION void gatherscatter_plan_release(gatherscatter_plan* plan);

/* Selects the threads that run the loops of a call. */
typedef struct gatherscatter_threads {
    size_t struct_size; /* sizeof(gatherscatter_threads) */
    int32_t count;      /* the largest number of threads; 0: the library's own number */
    /* Must call task(argument, i) for each i in [0, n), on any threads and in any order, and return when all calls have
     * returned. Tasks do not throw and do not wait for each other. NULL: the library uses its own threads. */
    void (*parallel_for)(void* context, void (*task)(void* argument, size_t i), void* argument, size_t n);
    void* context; /* the first argument of parallel_for */
} gatherscatter_threads;

/* Runs a plan. `inputs` are the addresses of the tensors in the order of the kernel. An address is NULL if the input is
 * absent or has no elements. `output` has the shape of the plan. `threads` can be NULL.
 *
 * In place: the output of a scatter can be its data, and the output of gather_reduce can be its init. That tensor is
 * then updated in place. Otherwise, the output must not overlap any input.
 *
 * Indices are checked before an output that is updated in place is written to. If the call fails, any other output
 * has undefined contents. */
GATHERSCATTER_FUNCTION gatherscatter_status* gatherscatter_plan_run(const gatherscatter_plan* plan,
                                                                    const void* const* inputs, void* output,
                                                                    const gatherscatter_threads* threads);

#ifdef __cplusplus
}
#endif

#endif
