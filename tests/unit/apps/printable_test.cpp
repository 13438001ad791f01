// SPDX-License-Identifier: Apache-2.0
#include "apps/common/printable.hpp"

#include <gtest/gtest.h>

namespace longhaul::apps {
namespace {

TEST(Printable, KeepsWhatCanBeShown) {
  EXPECT_EQ(printable("Grüße, 日本語 😀"), "Grüße, 日本語 😀");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, WordsOfAPeerCannotSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\n"), "a?[31mb?");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m \xc2\x85 \x7f"),
            "?31m ? ?");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x80\xa8"),
            "a?b?");
}

TEST(Printable, EachByteThatIsNoUtf8IsReplaced) {
  EXPECT_EQ(printable("\x9b"
                      "31m caf\xc3"),
            "?31m caf?");
  EXPECT_EQ(printable("\xc0\x8a \xe0\x80\x8a \xed\xa0\x80 \xf4\x90\x80\x80 \xff"),
            "?? ??? ??? ???? ?");
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abü", 3), "ab...");
  EXPECT_EQ(printable(std::string(10'000, '\n')), std::string(200, '?') + "...");
}

TEST(Printable, LinesStayLinesAndWhole) {
  EXPECT_EQ(printable_lines("one\ntwo\r\n\x1b[2J"), "one\ntwo?\n?[2J");
  EXPECT_EQ(printable_lines(std::string(10'000, 'x')).size(), 10'000u);
}

}  // namespace
}  // namespace longhaul::apps
