// SPDX-License-Identifier: Apache-2.0
// The library is loaded, used and unloaded, as plug-ins of frameworks are. This program does not
// link it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

bool is_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

std::ptrdiff_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST(Unload, the_library_can_be_used_unloaded_and_used_again) {
  for (int round = 0; round < 3; ++round) {
    void* const plugin = dlopen(LONGHAUL_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    ASSERT_TRUE(is_mapped("liblonghaul"));
    void* const symbol = dlsym(plugin, "move_one_tensor");
    ASSERT_NE(symbol, nullptr) << dlerror();
    EXPECT_EQ(reinterpret_cast<int (*)()>(symbol)(), 0);
    ASSERT_EQ(dlclose(plugin), 0) << dlerror();
    EXPECT_EQ(threads(), 1) << "a thread would run in unmapped code";
    EXPECT_FALSE(is_mapped("liblonghaul")) << "something keeps the library loaded";
  }
}

}  // namespace
