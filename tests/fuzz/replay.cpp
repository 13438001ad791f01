// SPDX-License-Identifier: Apache-2.0
// Runs a target over files, without a fuzzer: how every compiler replays the corpora.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs(int argc, char** argv) {
  std::vector<fs::path> found;
  for (int i = 1; i < argc; ++i) {
    const fs::path given(argv[i]);
    if (!fs::is_directory(given)) {
      found.push_back(given);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(given)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

bool replay(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  // Said before, so that a crash names its input.
  std::printf("%s: %zu bytes\n", path.filename().c_str(), bytes.size());
  std::fflush(stdout);
  const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const auto paths = inputs(argc, argv);
  if (paths.empty()) {
    std::fprintf(stderr, "nothing to replay; usage: %s FILE_OR_FOLDER…\n", argv[0]);
    return 2;
  }
  for (const fs::path& path : paths) {
    if (replay(path)) continue;
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    return 2;
  }
  std::printf("%zu inputs held\n", paths.size());
  return 0;
}
