// SPDX-License-Identifier: Apache-2.0
#include "lib/api/credential_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "lib/api/wipe.hpp"

namespace longhaul::api {
namespace {

constexpr mode_t kOthers = 077;
// A key is some hundred bytes, the authorities of a whole system some hundred KiB; what is far
// larger is another file by mistake.
constexpr std::size_t kSecretMax = 64 << 10;
constexpr std::size_t kPublicMax = 4 << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

std::string named(std::string_view setting, const std::string& path) {
  return std::string(setting) + " " + path;
}

tl::unexpected<Error> unreadable(const std::string& file, int os_error) {
  const bool path = os_error == ENOENT || os_error == ENOTDIR || os_error == ENAMETOOLONG;
  const bool permission = os_error == EACCES || os_error == EPERM;
  return fail(path         ? ErrorCode::invalid_argument
              : permission ? ErrorCode::no_permission
                           : ErrorCode::system,
              file + " cannot be read; check the path and its permissions", os_error);
}

/// Refuses what is no file of its kind before a byte is read.
Result<void> check_kind(int fd, const std::string& file, const std::string& path, bool secret) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return unreadable(file, errno);
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorCode::invalid_argument,
                file + " is " + (S_ISDIR(info.st_mode) ? "a folder" : "no file") + "; name a file");
  }
  if (secret && (info.st_mode & kOthers) != 0) {
    return fail(
        ErrorCode::no_permission,
        file + " can be read or written by others, so it is no secret; say\n    chmod 600 " + path);
  }
  return {};
}

/// Fills `content` up to `max` bytes. In place: a buffer that grows would leave copies behind.
Result<void> read_whole(int fd, const std::string& file, std::size_t max, std::string& content) {
  content.resize(max + 1);
  std::size_t got = 0;
  while (got < content.size()) {
    const ssize_t more = ::read(fd, content.data() + got, content.size() - got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return unreadable(file, errno);
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  if (got == 0) return fail(ErrorCode::invalid_argument, file + " is empty; name another file");
  if (got > max) {
    return fail(ErrorCode::invalid_argument, file + " is larger than " + std::to_string(max >> 10) +
                                                 " KiB, which no such file is; name another");
  }
  content.resize(got);
  return {};
}

Result<std::string> read_file(std::string_view setting, const std::string& path, bool secret) {
  const std::string file = named(setting, path);
  // A FIFO nobody writes to must not hold the caller up.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return unreadable(file, errno);
  if (auto checked = check_kind(fd.get(), file, path, secret); !checked) {
    return tl::unexpected(checked.error());
  }
  std::string content;
  auto filled = read_whole(fd.get(), file, secret ? kSecretMax : kPublicMax, content);
  if (filled) return content;
  if (secret) wipe(content);
  return tl::unexpected(filled.error());
}

/// What the key itself is blamed for, with the place it came from.
tl::unexpected<Error> blame(Error error, const std::string& place) {
  error.context = place + ": " + error.context;
  return tl::unexpected<Error>(std::move(error));
}

Result<LoadedCredentials> load_psk(const EndpointConfig& config) {
  std::string place = "psk";
  std::string read;
  const Wiper wiper(read);
  if (!config.psk_file.empty()) {
    place = named("psk_file", config.psk_file);
    auto content = read_secret_file("psk_file", config.psk_file);
    if (!content) return tl::unexpected(content.error());
    read.swap(*content);
  }
  const auto key = crypto::PskKey::parse(config.psk_file.empty() ? config.psk : read);
  if (!key) return blame(key.error(), place);
  auto credentials = crypto::Credentials::from_psk(*key);
  if (!credentials) return blame(credentials.error(), place);
  return LoadedCredentials{std::move(*credentials), "psk " + key->identity};
}

Result<LoadedCredentials> load_certificates(const EndpointConfig& config) {
  crypto::CertificateKeys keys;
  const Wiper wiper(keys.private_key_pem);
  struct Public {
    std::string_view setting;
    const std::string& path;
    std::string& content;
    std::string& name;
  };
  for (const Public& file : {Public{"certificate_file", config.certificate_file,
                                    keys.certificate_pem, keys.certificate_name},
                             Public{"ca_file", config.ca_file, keys.ca_pem, keys.ca_name}}) {
    if (file.path.empty()) continue;
    auto content = read_public_file(file.setting, file.path);
    if (!content) return tl::unexpected(content.error());
    file.content = std::move(*content);
    file.name = named(file.setting, file.path);
  }
  auto key = read_secret_file("private_key_file", config.private_key_file);
  if (!key) return tl::unexpected(key.error());
  keys.private_key_pem.swap(*key);
  keys.private_key_name = named("private_key_file", config.private_key_file);
  keys.peer_name = config.peer_name;
  for (const std::string& text : config.peer_fingerprints) {
    const auto fingerprint = crypto::parse_fingerprint(text);
    if (!fingerprint) return blame(fingerprint.error(), "peer_fingerprints");
    keys.peer_fingerprints.push_back(*fingerprint);
  }
  auto credentials = crypto::Credentials::from_certificates(keys);
  if (!credentials) return tl::unexpected(credentials.error());
  return LoadedCredentials{std::move(*credentials),
                           named("certificates,", config.certificate_file)};
}

}  // namespace

Result<std::string> read_public_file(std::string_view setting, const std::string& path) {
  return read_file(setting, path, false);
}

Result<std::string> read_secret_file(std::string_view setting, const std::string& path) {
  return read_file(setting, path, true);
}

Result<LoadedCredentials> load_credentials(const EndpointConfig& config, Security security) {
  switch (security) {
    case Security::none:
      return LoadedCredentials{};
    case Security::psk:
      return load_psk(config);
    case Security::certificates:
      return load_certificates(config);
  }
  return fail(ErrorCode::internal, "no such security");
}

}  // namespace longhaul::api
