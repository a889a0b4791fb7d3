/* The C interface of gatherscatter: gathers, scatters, and gather-and-reduce on contiguous tensors.
 *
 * A call has two steps. `gatherscatter_plan_create` checks types, shapes and attributes, and computes the shape of the
 * output. `gatherscatter_plan_run` checks the indices and computes. A plan may be run any number of times.
 *
 * Ownership: the caller owns all tensors. The library keeps no pointer of a caller after a function has returned. What
 *   the library returns through `gatherscatter_plan**` or as `gatherscatter_status*` belongs to the caller, who
 *   releases it.
 * Threads: all functions may be called from several threads at the same time. Threads may run one plan at the same time.
 *   The bits of a result do not depend on the number of threads.
 * Errors: functions that can fail return a status. NULL means success. A failed call has not written to the output,
 *   unless the function says otherwise. Invalid arguments never make the library read or write out of bounds, as long
 *   as the tensors are as large as described.
 * Versions: GATHERSCATTER_C_VERSION counts the changes of this interface. A later version only adds functions, and
 *   fields at the ends of structs that begin with `struct_size`. A program that was compiled with version n works with
 *   each library whose `gatherscatter_c_version()` is at least n: fields that its structs lack have their defaults.
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

#define GATHERSCATTER_C_VERSION 1

/* The version of this interface that the library has. */
GATHERSCATTER_FUNCTION uint32_t gatherscatter_c_version(void);

/* ---- What went wrong */

typedef struct gatherscatter_status gatherscatter_status;

typedef enum gatherscatter_code {
    GATHERSCATTER_OK = 0,            /* of NULL */
    GATHERSCATTER_TYPE_ERROR = 1,    /* an element type that the call does not take */
    GATHERSCATTER_VALUE_ERROR = 2,   /* shapes, ranks or attributes that do not fit */
    GATHERSCATTER_INDEX_ERROR = 3,   /* an index out of range */
    GATHERSCATTER_OUT_OF_MEMORY = 4
} gatherscatter_code;

/* The code of a status; GATHERSCATTER_OK for NULL. */
GATHERSCATTER_FUNCTION gatherscatter_code gatherscatter_status_code(const gatherscatter_status* status);

/* One sentence in UTF-8, which names the operator, the input and the position. It lives as long as the status. The
 * empty string for NULL. */
GATHERSCATTER_FUNCTION const char* gatherscatter_status_message(const gatherscatter_status* status);

/* Frees a status. NULL is allowed. */
GATHERSCATTER_FUNCTION void gatherscatter_status_release(gatherscatter_status* status);

/* ---- Tensors and operations */

typedef enum gatherscatter_type {
    GATHERSCATTER_OPAQUE = 0, /* bytes that are moved, of any size; they have no reductions */
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
    GATHERSCATTER_COMPLEX128 = 15
} gatherscatter_type;

/* A tensor without its memory. Tensors are contiguous and row-major, and aligned as their elements are. */
typedef struct gatherscatter_tensor {
    int32_t type;         /* a gatherscatter_type */
    int32_t rank;         /* of at most 64; -1: the input is absent */
    const int64_t* shape; /* `rank` sizes */
    int64_t item_size;    /* bytes of an element: for GATHERSCATTER_OPAQUE only */
} gatherscatter_tensor;

/* The inputs of each kernel stand in this order. [ ] are optional. */
typedef enum gatherscatter_kernel {
    GATHERSCATTER_GATHER = 0,           /* data, indices */
    GATHERSCATTER_GATHER_ELEMENTS = 1,  /* data, indices */
    GATHERSCATTER_GATHER_ND = 2,        /* data, indices */
    GATHERSCATTER_SCATTER_UPDATE = 3,   /* data, indices, updates */
    GATHERSCATTER_SCATTER_ELEMENTS = 4, /* data, indices, updates */
    GATHERSCATTER_SCATTER_ND = 5,       /* data, indices, updates */
    /* data, indices, [offsets], [segment_ids], [weights], [init]. The bags are given by `offsets`, by `segment_ids`, or
     * by `indices` of two or more dimensions, whose last one is the bag. */
    GATHERSCATTER_GATHER_REDUCE = 6
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

/* How floats are added up. */
typedef enum gatherscatter_accumulate {
    GATHERSCATTER_STEP = 0, /* in their own type, rounded after each step */
    GATHERSCATTER_WIDE = 1, /* in a wider type, rounded once */
    GATHERSCATTER_EXACT = 2 /* exactly, rounded once */
} gatherscatter_accumulate;

/* What happens to an index that is out of range. */
typedef enum gatherscatter_mode {
    GATHERSCATTER_RAISE = 0, /* an error */
    GATHERSCATTER_WRAP = 1,  /* it is taken modulo the size */
    GATHERSCATTER_CLIP = 2,  /* the nearest valid index */
    GATHERSCATTER_SKIP = 3   /* a gather gives zeros; a scatter drops the update */
} gatherscatter_mode;

/* What to compute. `gatherscatter_operation_init` sets struct_size, the kernel and all defaults. */
typedef struct gatherscatter_operation {
    size_t struct_size; /* sizeof(gatherscatter_operation) */
    int32_t kernel;     /* a gatherscatter_kernel */
    const char* name;   /* what messages call the operation; NULL: the name of the kernel */
    int64_t axis;       /* 0; may count from the end. Not for the ND kernels and gather_reduce */
    int64_t batch_dims; /* 0; for gather and gather_nd */
    int32_t mode;       /* GATHERSCATTER_RAISE */
    int32_t negative;   /* 1: negative indices count from the end; 0: they are out of range. For RAISE and SKIP */
    int32_t reduction;  /* GATHERSCATTER_NONE; GATHERSCATTER_ADD for gather_reduce */
    int32_t include_self; /* 1: data takes part in the reduction */
    int32_t accumulate; /* GATHERSCATTER_STEP */
    int64_t num_segments; /* -1; how many bags `segment_ids` can name, unless there is an `init` */
} gatherscatter_operation;

/* `struct_size` is sizeof(gatherscatter_operation), as the program that calls this was compiled. No more bytes are
 * written. */
GATHERSCATTER_FUNCTION void gatherscatter_operation_init(gatherscatter_operation* operation, size_t struct_size,
                                                         int32_t kernel);

/* ---- Plans */

typedef struct gatherscatter_plan gatherscatter_plan;

/* Checks a call and makes its plan. `inputs` are `count` tensors in the order of the kernel; those at the end may be
 * left out if they are optional. On success, *plan is the new plan; else it is NULL.
 *
 * Indices, offsets and segment ids may be of any integer type. All other inputs have the type of data. */
GATHERSCATTER_FUNCTION gatherscatter_status* gatherscatter_plan_create(const gatherscatter_operation* operation,
                                                                       const gatherscatter_tensor* inputs,
                                                                       size_t count, gatherscatter_plan** plan);

/* The shape of the output; its rank goes to *rank. It lives as long as the plan. The output has the type of data. */
GATHERSCATTER_FUNCTION const int64_t* gatherscatter_plan_shape(const gatherscatter_plan* plan, int32_t* rank);

/* Frees a plan. NULL is allowed. No thread may run the plan. */
GATHERSCATTER_FUNCTION void gatherscatter_plan_release(gatherscatter_plan* plan);

/* Where the loops of a call run. */
typedef struct gatherscatter_threads {
    size_t struct_size; /* sizeof(gatherscatter_threads) */
    int32_t count;      /* the largest number of threads; 0: as many as the library has */
    /* Calls task(argument, i) for each i in [0, n), on any threads and in any order, and returns when all calls have
     * returned. NULL: the threads of the library. Tasks do not throw and do not wait for each other. */
    void (*parallel_for)(void* context, void (*task)(void* argument, size_t i), void* argument, size_t n);
    void* context;
} gatherscatter_threads;

/* Runs a plan. `inputs` are the addresses of the tensors in the order of the plan; NULL where an input is absent or has
 * no elements. `output` has the shape of the plan. For a scatter it may be the data itself, and for gather_reduce
 * the init, which is then updated in place; apart from that, no memory of the output is that of an input. `threads` may be NULL.
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
