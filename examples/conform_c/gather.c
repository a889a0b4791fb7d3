/* A runtime for `gatherscatter conform`: ONNX's Gather for float32 data and int64 indices, along any axis.

       cc -o gather gather.c
       gatherscatter conform --runtime 'command:./gather {folder}' --op onnx.Gather-13

   With a folder as its argument it runs one case. Without one, it reads folders from standard input. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMS = 16, UNSUPPORTED = 77 };

struct tensor {
    int rank;
    int64_t shape[MOST_DIMS];
    int64_t size;
    char *elements;
};

static char message[200];
static struct tensor data, indices, output;

static FILE *open_in(const char *folder, const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

/* Read an array of one type, such as "<f4". The header of a .npy file is text: a Python dict. */
static int read_npy(const char *folder, const char *name, const char *type, size_t item, struct tensor *tensor) {
    FILE *file = open_in(folder, name, "rb");
    char header[65536] = {0};
    unsigned char start[10];
    if (!file || fread(start, 1, 10, file) != 10) return snprintf(message, sizeof message, "can't read %s", name), 1;
    if (fread(header, 1, start[8] + 256 * start[9], file) == 0 || !strstr(header, type))
        return snprintf(message, sizeof message, "%s must have the type %s", name, type), UNSUPPORTED;
    tensor->rank = 0;
    tensor->size = 1;
    for (char *text = strstr(header, "'shape': (") + 10, *end; tensor->rank < MOST_DIMS; text = end + 1) {
        int64_t dim = strtoll(text, &end, 10);
        if (end == text) break; /* ")" */
        tensor->shape[tensor->rank++] = dim;
        tensor->size *= dim;
    }
    free(tensor->elements); /* of the case before */
    tensor->elements = malloc(tensor->size * item + 1);
    if (fread(tensor->elements, item, tensor->size, file) != (size_t)tensor->size)
        return snprintf(message, sizeof message, "%s is cut off", name), 1;
    return fclose(file);
}

static int write_npy(const char *folder, const char *name, const char *type, size_t item, const struct tensor *tensor) {
    char header[118], *end = header + sprintf(header, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int i = 0; i < tensor->rank; i++) end += sprintf(end, "%lld,", (long long)tensor->shape[i]);
    strcpy(end, ")}");
    FILE *file = open_in(folder, name, "wb");
    if (!file) return snprintf(message, sizeof message, "can't write %s", name), 1;
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file); /* version 1.0, and 0x76 bytes of header, padded with spaces */
    fprintf(file, "%-117s\n", header);
    fwrite(tensor->elements, item, tensor->size, file);
    return fclose(file);
}

/* 0, UNSUPPORTED, or 1 for an error; `message` says why. */
static int run(const char *folder) {
    char text[65536] = {0};
    FILE *file = open_in(folder, "case.json", "rb");
    if (!file || fread(text, 1, sizeof text - 1, file) == 0) return strcpy(message, "can't read case.json"), 1;
    fclose(file);
    if (!strstr(text, "\"op\": \"onnx.Gather-13\"")) return strcpy(message, "only Gather-13"), UNSUPPORTED;
    const char *attributes = "\"attributes\": {\"axis\": ";
    char *end;
    int64_t axis = strtoll(strstr(text, attributes) + strlen(attributes), &end, 10);
    if (*end != '}') return strcpy(message, "the only attribute is axis"), 1;

    int failed = read_npy(folder, "data.npy", "<f4", 4, &data);
    if (!failed) failed = read_npy(folder, "indices.npy", "<i8", 8, &indices);
    if (failed) return failed;
    if (axis < -data.rank || axis >= data.rank)
        return snprintf(message, sizeof message, "there is no axis %lld", (long long)axis), 1;
    if (axis < 0) axis += data.rank;

    int64_t outer = 1, dim = data.shape[axis], inner = 1;
    for (int i = 0; i < data.rank; i++)
        if (i != axis) *(i < axis ? &outer : &inner) *= data.shape[i];
    output.rank = 0;
    output.size = outer * indices.size * inner;
    for (int i = 0; i < data.rank; i++) {
        for (int j = 0; i == axis && j < indices.rank; j++) output.shape[output.rank++] = indices.shape[j];
        if (i != axis) output.shape[output.rank++] = data.shape[i];
    }
    free(output.elements);
    output.elements = malloc(output.size * 4 + 1);
    const int64_t *index = (const int64_t *)indices.elements;
    char *to = output.elements;
    for (int64_t i = 0; i < indices.size; i++)
        if (index[i] < -dim || index[i] >= dim)
            return snprintf(message, sizeof message, "index %lld is out of range", (long long)index[i]), 1;
    for (int64_t row = 0; row < outer; row++)
        for (int64_t i = 0; i < indices.size; i++, to += 4 * inner)
            memcpy(to, data.elements + 4 * inner * (row * dim + (index[i] < 0 ? index[i] + dim : index[i])), 4 * inner);
    return write_npy(folder, "output.npy", "<f4", 4, &output);
}

int main(int count, char **arguments) {
    char folder[4096];
    if (count > 1) {
        int result = run(arguments[1]);
        if (result) fprintf(stderr, "%s\n", message);
        return result;
    }
    while (fgets(folder, sizeof folder, stdin)) {
        folder[strcspn(folder, "\n")] = 0;
        int result = run(folder);
        printf(result == 0 ? "ok\n" : result == UNSUPPORTED ? "unsupported %s\n" : "error %s\n", message);
        fflush(stdout);
    }
    return 0;
}
