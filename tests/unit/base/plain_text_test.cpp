// SPDX-License-Identifier: Apache-2.0
#include "lib/base/plain_text.hpp"

#include <gtest/gtest.h>

using longhaul::base::plain_text;

TEST(PlainText, LeavesPlainTextAlone) {
  EXPECT_EQ(plain_text("", 10), "");
  EXPECT_EQ(plain_text("Grüße, 日本語 😀 é", 200), "Grüße, 日本語 😀 é");
  EXPECT_EQ(plain_text("exactly ten", 11), "exactly ten");
}

TEST(PlainText, ReplacesWhatATerminalObeys) {
  EXPECT_EQ(plain_text("\x1b[31mred\x1b[0m", 99), "?[31mred?[0m");
  EXPECT_EQ(plain_text("one\ntwo\r\nthree\ttab\x7f", 99), "one?two??three?tab?");
  EXPECT_EQ(plain_text(std::string_view("a\0b", 3), 99), "a?b");
  // U+009B, which begins a command as ESC [ does; U+0085, a new line.
  EXPECT_EQ(plain_text("\xc2\x9b"
                       "32m \xc2\x85 \xc2\xa0.",
                       99),
            "?32m ? \xc2\xa0.");
  EXPECT_EQ(plain_text("line\xe2\x80\xa8separator\xe2\x80\xa9paragraph", 99),
            "line?separator?paragraph");
}

TEST(PlainText, ReplacesWhatTurnsTheDirectionOfWriting) {
  EXPECT_EQ(plain_text("a\xe2\x80\xae"
                       "b\xe2\x81\xa6"
                       "c\xd8\x9c",
                       99),
            "a?b?c?");
}

TEST(PlainText, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(plain_text("raw \x9b"
                       "31m",
                       99),
            "raw ?31m");
  EXPECT_EQ(plain_text("cut caf\xc3", 99), "cut caf?");
  EXPECT_EQ(plain_text("\xe2\x82", 99), "??");
  EXPECT_EQ(plain_text("\xc0\x8a overlong \xe0\x80\x8a", 99), "?? overlong ???");
  EXPECT_EQ(plain_text("\xed\xa0\x80 surrogate", 99), "??? surrogate");
  EXPECT_EQ(plain_text("\xf4\x90\x80\x80 beyond \xff", 99), "???? beyond ?");
  EXPECT_EQ(plain_text("\xc3(", 99), "?(");
}

TEST(PlainText, CutsALongTextBetweenCharacters) {
  EXPECT_EQ(plain_text("abcdef", 3), "abc…");
  EXPECT_EQ(plain_text("abüd", 3), "ab…");
  EXPECT_EQ(plain_text("abü", 4), "abü");
  const std::string long_text = plain_text(std::string(10'000, '\x1b'), 200);
  EXPECT_EQ(long_text, std::string(200, '?') + "…");
}
