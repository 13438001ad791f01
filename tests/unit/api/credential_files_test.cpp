// SPDX-License-Identifier: Apache-2.0
#include "lib/api/credential_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/api/wipe.hpp"
#include "longhaul/security.hpp"

namespace longhaul::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CredentialFiles : public testing::Test {
 protected:
  CredentialFiles() {
    std::string name = std::filesystem::temp_directory_path() / "longhaul-keys-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~CredentialFiles() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, std::string_view content, mode_t mode = 0600) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }
  EndpointConfig with_key(const std::string& path) {
    EndpointConfig config;
    config.psk_file = path;
    return config;
  }

  std::filesystem::path folder_;
};

void expect_refused(const Result<std::string>& read, ErrorCode code,
                    const testing::Matcher<std::string>& words) {
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, code) << to_string(read.error());
  EXPECT_THAT(to_string(read.error()), words);
}

TEST_F(CredentialFiles, ASecretOfItsOwnerIsReadWhole) {
  std::string content(5000, 'x');
  content += '\0';
  EXPECT_EQ(read_secret_file("psk_file", file("a", content, 0600)).value(), content);
  EXPECT_EQ(read_secret_file("psk_file", file("b", content, 0400)).value(), content);
}

TEST_F(CredentialFiles, ASecretOthersMayTouchIsRefusedWithTheLineThatFixesIt) {
  for (const mode_t mode : {0644U, 0640U, 0620U, 0610U, 0604U, 0602U, 0601U, 0666U, 0777U}) {
    const std::string path = file("key" + std::to_string(mode), "secret words", mode);
    expect_refused(read_secret_file("private_key_file", path), ErrorCode::no_permission,
                   AllOf(HasSubstr("private_key_file " + path), HasSubstr("    chmod 600 " + path),
                         Not(HasSubstr("secret words"))));
  }
}

TEST_F(CredentialFiles, WhatIsPublicMayBeReadByAll) {
  EXPECT_EQ(read_public_file("ca_file", file("ca", "pem", 0644)).value(), "pem");
}

TEST_F(CredentialFiles, ALinkIsJudgedByWhereItLeads) {
  const std::string open = file("open", "k", 0644);
  const std::string closed = file("closed", "k", 0600);
  std::filesystem::create_symlink(open, folder_ / "to-open");
  std::filesystem::create_symlink(closed, folder_ / "to-closed");
  EXPECT_FALSE(read_secret_file("psk_file", folder_ / "to-open"));
  EXPECT_TRUE(read_secret_file("psk_file", folder_ / "to-closed"));
}

TEST_F(CredentialFiles, WhatIsNoFileIsNamed) {
  expect_refused(read_secret_file("psk_file", folder_ / "none"), ErrorCode::invalid_argument,
                 AllOf(HasSubstr("psk_file " + (folder_ / "none").string()),
                       HasSubstr("No such file"), HasSubstr("check the path")));
  expect_refused(read_public_file("ca_file", folder_), ErrorCode::invalid_argument,
                 HasSubstr("is a folder; name a file"));
  expect_refused(read_public_file("ca_file", "/dev/null"), ErrorCode::invalid_argument,
                 HasSubstr("is no file"));
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  expect_refused(read_secret_file("psk_file", fifo), ErrorCode::invalid_argument,
                 HasSubstr("is no file"));
}

TEST_F(CredentialFiles, EmptyAndHugeFilesAreRefused) {
  expect_refused(read_secret_file("psk_file", file("empty", "")), ErrorCode::invalid_argument,
                 HasSubstr("is empty"));
  const std::string huge = file("huge", "x");
  std::filesystem::resize_file(huge, 1U << 30);
  expect_refused(read_secret_file("psk_file", huge), ErrorCode::invalid_argument,
                 HasSubstr("larger than 64 KiB"));
  expect_refused(read_public_file("ca_file", huge), ErrorCode::invalid_argument,
                 HasSubstr("larger than 4096 KiB"));
}

TEST_F(CredentialFiles, AFileOneMayNotReadIsNamed) {
  const std::string path = file("foreign", "x", 0600);
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(77);
    if (::geteuid() != 65534) ::chmod(path.c_str(), 0);
    const auto read = read_secret_file("psk_file", path);
    ::_exit(!read && read.error().code == ErrorCode::no_permission &&
                    read.error().os_error == EACCES
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "may not change the user (CAP_SETUID)";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(CredentialFiles, AGeneratedKeyIsTakenFromItsFileAndAsText) {
  const std::string text = generate_key("lab-7").value();
  const auto from_file = load_credentials(with_key(file("key", text)), Security::psk);
  ASSERT_TRUE(from_file) << to_string(from_file.error());
  EXPECT_NE(from_file->credentials, nullptr);
  EXPECT_EQ(from_file->description, "psk lab-7");
  EndpointConfig config;
  config.psk = text;
  const auto from_text = load_credentials(config, Security::psk);
  ASSERT_TRUE(from_text) << to_string(from_text.error());
  EXPECT_EQ(from_text->description, "psk lab-7");
}

TEST_F(CredentialFiles, NoneHasNoCredentials) {
  const auto none = load_credentials({}, Security::none);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->credentials, nullptr);
}

TEST_F(CredentialFiles, GarbageIsBlamedOnItsPlaceAndNotRepeated) {
  const std::string garbage = "longhaul-psk-1 lab 00112233445566778899aabbccddeeff";
  const std::string path = file("key", garbage);
  const auto from_file = load_credentials(with_key(path), Security::psk);
  ASSERT_FALSE(from_file);
  EXPECT_THAT(from_file.error().context,
              AllOf(StartsWith("psk_file " + path + ": "), Not(HasSubstr("00112233"))));
  EndpointConfig config;
  config.psk = garbage;
  const auto from_text = load_credentials(config, Security::psk);
  ASSERT_FALSE(from_text);
  EXPECT_THAT(from_text.error().context, AllOf(StartsWith("psk: "), Not(HasSubstr("00112233"))));
}

TEST_F(CredentialFiles, EachFileOfACertificateIsNamed) {
  EndpointConfig config;
  config.certificate_file = folder_ / "own.pem";
  config.private_key_file = folder_ / "own.key";
  config.ca_file = folder_ / "ca.pem";
  const auto error = [&] {
    const auto loaded = load_credentials(config, Security::certificates);
    return loaded ? "loaded" : loaded.error().context;
  };
  EXPECT_THAT(error(), StartsWith("certificate_file " + config.certificate_file));
  file("own.pem", "garbage", 0644);
  EXPECT_THAT(error(), StartsWith("ca_file " + config.ca_file));
  file("ca.pem", "garbage", 0644);
  EXPECT_THAT(error(), StartsWith("private_key_file " + config.private_key_file));
  file("own.key", "garbage", 0644);
  EXPECT_THAT(error(), HasSubstr("chmod 600 " + config.private_key_file));
  file("own.key", "garbage", 0600);
  EXPECT_THAT(error(), Not(HasSubstr("chmod")));
  EXPECT_NE(error(), "loaded");
  config.ca_file.clear();
  config.peer_fingerprints = {"ab:cd"};
  EXPECT_THAT(error(), StartsWith("peer_fingerprints: "));
}

TEST(Wipe, LeavesNothingBehind) {
  std::string text(200, 's');
  text.resize(40);
  const char* const memory = text.data();
  wipe(text);
  EXPECT_TRUE(text.empty());
  for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(memory[i], '\0') << i;
}

}  // namespace
}  // namespace longhaul::api
