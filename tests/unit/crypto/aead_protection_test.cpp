// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/aead_protection.hpp"

#include <gtest/gtest.h>

#include "lib/wire/packet.hpp"
#include "tests/unit/crypto/aead_packets.hpp"

namespace longhaul::crypto {
namespace {

using namespace test;

class AeadProtectionTest : public testing::TestWithParam<Choice> {
 protected:
  void SetUp() override {
    if (make_aead(GetParam().cipher, GetParam().engine) == nullptr) {
      GTEST_SKIP() << "SKIP: this machine has no " << GetParam().name;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, AeadProtectionTest, testing::ValuesIn(kChoices),
                         [](const auto& choice) { return std::string(choice.param.name); });

TEST_P(AeadProtectionTest, opens_what_the_peer_sealed) {
  Pair pair(GetParam());
  base::Random random(1);
  for (const Shape& shape : kShapes) {
    for (const bool from_client : {true, false}) {
      const Content content = random_content(random, shape);
      Packet packet = sealed(pair.end(from_client), content, 5, 77);
      EXPECT_EQ(packet.bytes.size(),
                packet.header_bytes + 16 + content.frames.size() + content.payload.size());
      EXPECT_TRUE(opened(pair.end(!from_client), packet));
      EXPECT_EQ(packet.text(), content.text());
    }
  }
}

}  // namespace
}  // namespace longhaul::crypto
