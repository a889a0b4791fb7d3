/* Runs calls of the C interface that another process sends, so that tests in Python reach a library for a system
 * without Python. c_interface.py is the other side. Each call runs three times: on the library's threads, on one
 * thread, and on threads of this program. */
#include <gatherscatter.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

enum { MAX_INPUTS = 8, MAX_RANK = 64, THREADS = 3 };

static void fail(const char* why) {
    fprintf(stderr, "c_interface_host: %s\n", why);
    exit(1);
}

/* Returns 0 at the end of the input. */
static int read_bytes(void* to, size_t size) {
    const size_t got = fread(to, 1, size, stdin);
    if (got != size && got != 0) fail("the input ends within a call");
    return got == size;
}

static int64_t read_number(void) {
    int64_t value;
    if (!read_bytes(&value, sizeof value)) fail("the input ends within a call");
    return value;
}

/* Returns new memory with what follows in the input: the number of bytes, then the bytes. A byte more is allocated, so
 * that memory for no bytes has an address and text ends with 0. */
static void* read_block(int64_t* size) {
    *size = read_number();
    char* const block = calloc((size_t)*size + 1, 1);
    if (!block) fail("out of memory");
    if (*size > 0 && !read_bytes(block, (size_t)*size)) fail("the input ends within a call");
    return block;
}

static void write_number(int64_t value) { fwrite(&value, sizeof value, 1, stdout); }

static void write_block(const void* block, int64_t size) {
    write_number(size);
    fwrite(block, 1, (size_t)size, stdout);
}

/* ---- The threads of a host */

typedef struct loop {
    void (*task)(void* argument, size_t i);
    void* argument;
    size_t n, first;
} loop;

/* Runs every third task, the last one first. */
static void* run_share(void* given) {
    const loop* const all = given;
    for (size_t i = all->n; i-- > 0;)
        if (i % THREADS == all->first) all->task(all->argument, i);
    return NULL;
}

static void parallel_for(void* context, void (*task)(void*, size_t), void* argument, size_t n) {
    pthread_t threads[THREADS];
    loop shares[THREADS];
    (void)context;
    for (size_t i = 0; i < THREADS; ++i) {
        shares[i] = (loop){task, argument, n, i};
        if (pthread_create(&threads[i], NULL, run_share, &shares[i]) != 0) fail("no thread");
    }
    for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

/* ---- Calls */

typedef struct call {
    gatherscatter_operation operation;
    gatherscatter_tensor tensors[MAX_INPUTS];
    int64_t shapes[MAX_INPUTS][MAX_RANK], sizes[MAX_INPUTS];
    void* inputs[MAX_INPUTS]; /* NULL: absent */
    int64_t count, item_size; /* the bytes of an element of the result */
    int in_place;
} call;

typedef struct outcome {
    gatherscatter_status* status;
    int32_t rank;
    int64_t shape[MAX_RANK], size;
    char* result;
} outcome;

static int read_call(call* c) {
    int64_t size, in_place;
    memset(c, 0, sizeof *c);
    if (!read_bytes(&in_place, sizeof in_place)) return 0;
    c->in_place = (int)in_place;
    c->item_size = read_number();
    void* const operation = read_block(&size);
    if (size != sizeof c->operation) fail("the operation has another size");
    memcpy(&c->operation, operation, sizeof c->operation);
    free(operation);
    char* const name = read_block(&size);
    c->operation.name = size > 0 ? name : NULL;
    c->count = read_number();
    if (c->count < 0 || c->count > MAX_INPUTS) fail("too many inputs");
    for (int64_t i = 0; i < c->count; ++i) {
        gatherscatter_tensor* const tensor = &c->tensors[i];
        tensor->type = (int32_t)read_number();
        tensor->rank = (int32_t)read_number();
        tensor->item_size = read_number();
        tensor->shape = c->shapes[i];
        if (tensor->rank > MAX_RANK) fail("too many dimensions");
        for (int32_t d = 0; d < tensor->rank; ++d) c->shapes[i][d] = read_number();
        if (tensor->rank >= 0) c->inputs[i] = read_block(&c->sizes[i]);
    }
    return 1;
}

static outcome run(const call* c, const gatherscatter_threads* threads) {
    outcome done = {0};
    gatherscatter_plan* plan = NULL;
    done.status = gatherscatter_plan_create(&c->operation, c->tensors, (size_t)c->count, &plan);
    if (done.status) return done;
    const int64_t* const shape = gatherscatter_plan_shape(plan, &done.rank);
    done.size = c->item_size;
    for (int32_t d = 0; d < done.rank; ++d) done.size *= done.shape[d] = shape[d];
    const void* inputs[MAX_INPUTS];
    memcpy(inputs, c->inputs, sizeof inputs);
    done.result = calloc((size_t)done.size + 1, 1);
    if (!done.result) fail("out of memory");
    if (c->in_place) {
        const int number = c->operation.kernel == GATHERSCATTER_GATHER_REDUCE ? 5 : 0; /* init, or data */
        if (c->sizes[number] != done.size) fail("the result has another size than the input that it replaces");
        memcpy(done.result, inputs[number], (size_t)done.size);
        inputs[number] = done.result;
    }
    done.status = gatherscatter_plan_run(plan, inputs, done.result, threads);
    gatherscatter_plan_release(plan);
    return done;
}

static void check_same(const outcome* one, const outcome* other) {
    const int same = strcmp(gatherscatter_status_message(one->status), gatherscatter_status_message(other->status)) == 0;
    if (!same || one->size != other->size) fail("other threads give another outcome");
    if (!one->status && one->size > 0 && memcmp(one->result, other->result, (size_t)one->size) != 0)
        fail("other threads give other bits");
}

static void release(outcome* done) {
    gatherscatter_status_release(done->status);
    free(done->result);
}

int main(void) {
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    static call c;
    while (read_call(&c)) {
        const gatherscatter_threads one = {sizeof one, 1, NULL, NULL}, own = {sizeof own, 5, parallel_for, NULL};
        outcome first = run(&c, NULL), second = run(&c, &one), third = run(&c, &own);
        check_same(&first, &second);
        check_same(&first, &third);
        const char* const message = gatherscatter_status_message(first.status);
        write_number(gatherscatter_status_code(first.status));
        write_block(message, (int64_t)strlen(message));
        write_number(first.rank);
        for (int32_t d = 0; d < first.rank; ++d) write_number(first.shape[d]);
        write_block(first.result ? first.result : "", first.size);
        fflush(stdout);
        release(&first);
        release(&second);
        release(&third);
        for (int64_t i = 0; i < c.count; ++i) free(c.inputs[i]);
        free((char*)c.operation.name);
    }
    return 0;
}
