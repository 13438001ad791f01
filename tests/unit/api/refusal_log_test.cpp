// SPDX-License-Identifier: Apache-2.0
#include "lib/api/refusal_log.hpp"

#include <gmock/gmock.h>

namespace longhaul::api {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

class RefusalLogTest : public testing::Test {
 protected:
  auto refuse(int ms, std::uint16_t port, std::string_view cause) {
    const auto client = SocketAddress::parse("192.0.2.1", port);
    EXPECT_TRUE(client);
    return log_.on_refused(start_ + milliseconds(ms), *client, cause);
  }

  RefusalLog log_;
  Timestamp start_ = Timestamp{} + std::chrono::hours(1);
};

TEST_F(RefusalLogTest, NoCauseHidesAnother) {
  EXPECT_THAT(refuse(0, 1, "another key"),
              Optional(std::string("refused a client at 192.0.2.1:1: another key")));
  EXPECT_THAT(refuse(1, 2, "no security"),
              Optional(std::string("refused a client at 192.0.2.1:2: no security")));
}

TEST_F(RefusalLogTest, AClientThatTriesAgainIsOneClient) {
  EXPECT_TRUE(refuse(0, 1, "another key"));
  for (int ms = 100; ms < 3000; ms += 250) EXPECT_FALSE(refuse(ms, 1, "another key"));
  EXPECT_THAT(refuse(3000, 2, "another key"), Optional(Not(HasSubstr("more"))));
  EXPECT_TRUE(refuse(60'000, 1, "another key")) << "much later it is somebody else";
}

TEST_F(RefusalLogTest, WhoHadNoLineIsCountedInTheNext) {
  EXPECT_TRUE(refuse(0, 1, "another key"));
  EXPECT_FALSE(refuse(10, 2, "another key"));
  EXPECT_FALSE(refuse(20, 3, "another key"));
  EXPECT_FALSE(refuse(30, 3, "another key"));
  EXPECT_THAT(refuse(1000, 4, "another key"),
              Optional(HasSubstr("(and 2 more clients for this since the last such line)")));
}

TEST_F(RefusalLogTest, CausesThatAreMadeUpFillNoLog) {
  int lines = 0;
  for (int i = 0; i < 900; ++i) {
    lines += refuse(i, static_cast<std::uint16_t>(i + 1), "made up " + std::to_string(i)) ? 1 : 0;
  }
  EXPECT_EQ(lines, 8);
  EXPECT_THAT(refuse(2000, 1000, "another key"),
              Optional(HasSubstr("(and 892 more clients for other reasons)")));
}

}  // namespace
}  // namespace longhaul::api
