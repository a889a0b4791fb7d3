/* Sums by index from C: a scatter with repeated indices, a bad index, and a gather that is reduced. */
#include <gatherscatter.h>
#include <stdint.h>
#include <stdio.h>

/* Prints the message of a call that failed, and frees its status. */
static int failed(gatherscatter_status* status) {
    if (status == NULL) return 0;
    printf("error %d: %s\n", (int)gatherscatter_status_code(status), gatherscatter_status_message(status));
    gatherscatter_status_release(status);
    return 1;
}

static gatherscatter_tensor tensor(int32_t type, int32_t rank, const int64_t* shape) {
    gatherscatter_tensor described = {0};
    described.type = type;
    described.rank = rank;
    described.shape = shape;
    return described;
}

static void print(const char* name, const float* values, int64_t count) {
    printf("%s:", name);
    for (int64_t i = 0; i < count; ++i) printf(" %g", values[i]);
    printf("\n");
}

/* Makes a plan and runs it once. A program that repeats a call keeps the plan. */
static int call(const gatherscatter_operation* operation, const gatherscatter_tensor* tensors, size_t count,
                const void* const* inputs, void* output) {
    gatherscatter_plan* plan = NULL;
    if (failed(gatherscatter_plan_create(operation, tensors, count, &plan))) return 0;
    int good = !failed(gatherscatter_plan_run(plan, inputs, output, NULL));
    gatherscatter_plan_release(plan);
    return good;
}

/* Adds four updates to three sums. Two of them have the same target, and both count. */
static int add_updates(void) {
    const int64_t three[] = {3}, four[] = {4}, four_by_one[] = {4, 1};
    const float sums[] = {0, 0, 0}, updates[] = {1, 2, 4, 8};
    int64_t indices[] = {0, 2, 2, -2};
    float result[3];

    gatherscatter_operation operation;
    gatherscatter_operation_init(&operation, sizeof operation, GATHERSCATTER_SCATTER_ND);
    operation.reduction = GATHERSCATTER_ADD;

    const gatherscatter_tensor tensors[] = {tensor(GATHERSCATTER_FLOAT32, 1, three),
                                            tensor(GATHERSCATTER_INT64, 2, four_by_one),
                                            tensor(GATHERSCATTER_FLOAT32, 1, four)};
    const void* inputs[] = {sums, indices, updates};
    if (!call(&operation, tensors, 3, inputs, result)) return 0;
    print("sums", result, 3);

    indices[1] = 3; /* there is no sum 3 */
    return !call(&operation, tensors, 3, inputs, result);
}

/* The mean of the rows of a table that each bag of indices names. No row is stored on the way. */
static int reduce_rows(void) {
    const int64_t table_shape[] = {3, 2}, indices_shape[] = {2, 2};
    const float table[] = {1, 2, 10, 20, 100, 200};
    const int32_t indices[] = {0, 1, 2, 2};
    float means[4];

    gatherscatter_operation operation;
    gatherscatter_operation_init(&operation, sizeof operation, GATHERSCATTER_GATHER_REDUCE);
    operation.reduction = GATHERSCATTER_MEAN;
    operation.name = "mean of words";

    const gatherscatter_tensor tensors[] = {tensor(GATHERSCATTER_FLOAT32, 2, table_shape),
                                            tensor(GATHERSCATTER_INT32, 2, indices_shape)};
    const void* inputs[] = {table, indices};
    if (!call(&operation, tensors, 2, inputs, means)) return 0;
    print("means", means, 4);
    return 1;
}

int main(void) {
    if (gatherscatter_c_version() < GATHERSCATTER_C_VERSION) {
        printf("the library is older than the header\n");
        return 1;
    }
    return add_updates() && reduce_rows() ? 0 : 1;
}
