// Runs a model that `gatherscatter convert --for onnxruntime` wrote. A million updates have four targets, four times.

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s MODEL LIBRARY\n", argv[0]);
        return 2;
    }
    Ort::Env env;
    Ort::SessionOptions options;
    options.RegisterCustomOpsLibrary(argv[2]);  // `gatherscatter library` prints its path
    Ort::Session session(env, argv[1], options);

    const std::int64_t count = 1'000'000, rows = 4;
    std::vector<float> start(rows), updates(count, 1.0f);
    std::vector<std::int64_t> places(count);
    for (std::int64_t i = 0; i < count; ++i) {
        places[i] = i % rows;
    }
    const std::int64_t start_shape[] = {rows}, places_shape[] = {count, 1}, updates_shape[] = {count};
    const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    const char* input_names[] = {"start", "places", "updates"};
    const char* output_names[] = {"result"};
    const Ort::Value inputs[] = {
        Ort::Value::CreateTensor<float>(memory, start.data(), start.size(), start_shape, 1),
        Ort::Value::CreateTensor<std::int64_t>(memory, places.data(), places.size(), places_shape, 2),
        Ort::Value::CreateTensor<float>(memory, updates.data(), updates.size(), updates_shape, 1),
    };

    int right = 0;
    for (int run = 0; run < 100; ++run) {
        const auto outputs = session.Run(Ort::RunOptions{nullptr}, input_names, inputs, 3, output_names, 1);
        const float* sums = outputs[0].GetTensorData<float>();
        right += std::all_of(sums, sums + rows, [](float sum) { return sum == 1'000'000; });
    }
    std::printf("right in %d of 100 runs\n", right);

    places[5] = 7;
    try {
        session.Run(Ort::RunOptions{nullptr}, input_names, inputs, 3, output_names, 1);
    } catch (const Ort::Exception& error) {
        std::printf("%s\n", error.what());
    }
    return right == 100 ? 0 : 1;
}
