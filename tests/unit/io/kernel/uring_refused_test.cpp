// SPDX-License-Identifier: Apache-2.0
// A system that refuses io_uring, as containers do: real seccomp filters, each in a child process.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "lib/io/kernel/descriptor.hpp"
#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel {
namespace {

using test::loopback;

/// From here on the system answers `call` with `error`, in this process and for good.
bool refuse(long call, int error) {
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Runs `body` in a child; it returns what it misses, or nothing if all is well.
void in_child(const std::function<std::string()>& body) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string complaint = body();
    [[maybe_unused]] const auto size = write(pipe_ends[1], complaint.data(), complaint.size());
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string complaint;
  std::array<char, 512> part;
  for (ssize_t size; (size = read(pipe_ends[0], part.data(), part.size())) > 0;) {
    complaint.append(part.data(), static_cast<std::size_t>(size));
  }
  close(pipe_ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(complaint, "");
}

std::string carries(Backend& backend) {
  test::Burst burst;
  for (std::size_t i = 0; i < 70; ++i) burst.add(backend.local_address(), 300 + i % 3);
  if (backend.transmit(test::now(), burst.datagrams()) != burst.size()) return "did not send all";
  const auto arrived = test::collect(backend, burst.size());
  if (arrived.size() != burst.size()) return "received " + std::to_string(arrived.size());
  for (std::size_t i = 0; i < burst.size(); ++i) {
    if (arrived[i].content != burst.content(i)) return "wrong bytes in " + std::to_string(i);
  }
  return "";
}

struct Refusal {
  std::string name;
  long call;
  int error;
  ErrorCode code;
  std::vector<std::string> words;  ///< of the error
};

class UringRefusedTest : public testing::TestWithParam<Refusal> {};

INSTANTIATE_TEST_SUITE_P(
    Refusals, UringRefusedTest,
    testing::Values(
        Refusal{"setup_eperm",
                SYS_io_uring_setup,
                EPERM,
                ErrorCode::no_permission,
                {"io_uring_setup", "seccomp", "mmsg"}},
        Refusal{"setup_enosys",
                SYS_io_uring_setup,
                ENOSYS,
                ErrorCode::unsupported,
                {"io_uring_setup", "without io_uring", "seccomp", "mmsg"}},
        Refusal{"setup_einval",
                SYS_io_uring_setup,
                EINVAL,
                ErrorCode::unsupported,
                {"io_uring_setup", "Linux 6.1", "mmsg"}},
        Refusal{
            "setup_enomem", SYS_io_uring_setup, ENOMEM, ErrorCode::system, {"memory", "ulimit -l"}},
        Refusal{"setup_emfile",
                SYS_io_uring_setup,
                EMFILE,
                ErrorCode::system,
                {"descriptor", "ulimit -n"}},
        Refusal{"enter_eperm",
                SYS_io_uring_enter,
                EPERM,
                ErrorCode::no_permission,
                {"io_uring_enter", "seccomp"}},
        Refusal{"register_eacces",
                SYS_io_uring_register,
                EACCES,
                ErrorCode::no_permission,
                {"io_uring_register", "seccomp"}}),
    [](const auto& refusal) { return refusal.param.name; });

TEST_P(UringRefusedTest, AskedForByNameOpenFailsAndSaysWhyAndWhatHelps) {
  const Refusal& refusal = GetParam();
  for (const EngineChoice engine : {EngineChoice::io_uring, EngineChoice::io_uring_zero_copy}) {
    in_child([&]() -> std::string {
      if (!refuse(refusal.call, refusal.error)) return "no seccomp filter";
      const auto backend =
          KernelBackend::open({.local = loopback(AddressFamily::ipv4), .engine = engine});
      if (backend) return "it opened";
      if (backend.error().code != refusal.code) return "another code";
      if (backend.error().os_error != refusal.error) return "another errno";
      for (const std::string& word : refusal.words) {
        if (backend.error().context.find(word) == std::string::npos) {
          return "no \"" + word + "\" in: " + backend.error().context;
        }
      }
      return "";
    });
  }
}

TEST_P(UringRefusedTest, AutomaticallyMmsgCarriesOnAndTheLogSaysSoOnce) {
  const Refusal& refusal = GetParam();
  in_child([&]() -> std::string {
    if (!refuse(refusal.call, refusal.error)) return "no seccomp filter";
    std::vector<std::string> lines;
    const auto backend = KernelBackend::open(
        {.local = loopback(AddressFamily::ipv4), .log = [&](LogLevel level, std::string_view line) {
           lines.push_back((level == LogLevel::info ? "" : "not info: ") + std::string(line));
         }});
    if (!backend) return backend.error().context;
    if ((*backend)->engine() != "mmsg") return "engine " + std::string((*backend)->engine());
    if (auto missing = carries(**backend); !missing.empty()) return missing;
    if (lines.size() != 1) return std::to_string(lines.size()) + " lines";
    if (lines[0].rfind("engine mmsg, because ", 0) != 0) return lines[0];
    return lines[0].find(refusal.words[0]) == std::string::npos ? lines[0] : "";
  });
}

TEST_P(UringRefusedTest, MmsgAskedForByNameNeedsNoRing) {
  const Refusal& refusal = GetParam();
  in_child([&]() -> std::string {
    if (!refuse(refusal.call, refusal.error)) return "no seccomp filter";
    bool said = false;
    const auto backend =
        KernelBackend::open({.local = loopback(AddressFamily::ipv4),
                             .engine = EngineChoice::mmsg,
                             .log = [&](LogLevel, std::string_view) { said = true; }});
    if (!backend) return backend.error().context;
    if (auto missing = carries(**backend); !missing.empty()) return missing;
    return said ? "it had something to say" : "";
  });
}

TEST(UringRefusedLaterTest, ARingRefusedWhileInUseGivesWayToMmsg) {
  in_child([]() -> std::string {
    std::vector<std::string> lines;
    const auto backend = KernelBackend::open(
        {.local = loopback(AddressFamily::ipv4),
         .engine = EngineChoice::io_uring,
         .log = [&](LogLevel level, std::string_view line) {
           lines.push_back((level == LogLevel::warning ? "" : "no warning: ") + std::string(line));
         }});
    if (!backend) return backend.error().context;
    if (auto missing = carries(**backend); !missing.empty()) return "before: " + missing;
    // A program that puts itself into a sandbox once it has everything open.
    if (!refuse(SYS_io_uring_enter, EPERM)) return "no seccomp filter";
    test::Burst burst;
    burst.add((*backend)->local_address(), 100);
    if ((*backend)->transmit(test::now(), burst.datagrams()) != 0) return "it sent";
    std::array<base::RxDatagram, 4> out;
    (*backend)->receive(test::now(), out);
    if ((*backend)->engine() != "mmsg") return "engine " + std::string((*backend)->engine());
    if (auto missing = carries(**backend); !missing.empty()) return "after: " + missing;
    if (lines.size() != 1) return std::to_string(lines.size()) + " lines";
    return lines[0].find("seccomp") == std::string::npos ? lines[0] : "";
  });
}

TEST(UringRefusedLaterTest, ARingThatMayNotBeginGivesWayToMmsg) {
  in_child([]() -> std::string {
    const auto backend = KernelBackend::open(
        {.local = loopback(AddressFamily::ipv4), .engine = EngineChoice::io_uring});
    if (!backend) return backend.error().context;
    if (!refuse(SYS_io_uring_register, EPERM)) return "no seccomp filter";
    std::array<base::RxDatagram, 4> out;
    (*backend)->receive(test::now(), out);
    (*backend)->receive(test::now(), out);
    if ((*backend)->engine() != "mmsg") return "engine " + std::string((*backend)->engine());
    return carries(**backend);
  });
}

TEST(UringRefusedBySysctlTest, TheSysctlIsNamed) {
  // The sysctl is the whole machine's, so its file is covered for this child, and a filter does
  // what the sysctl would.
  constexpr const char* kSysctl = "/proc/sys/kernel/io_uring_disabled";
  if (geteuid() != 0 || access(kSysctl, R_OK) != 0) {
    GTEST_SKIP() << "needs root and the sysctl kernel.io_uring_disabled (Linux 6.6)";
  }
  in_child([&]() -> std::string {
    std::string path = "/tmp/longhaul-sysctl-XXXXXX";
    const Descriptor file(mkstemp(path.data()));
    const bool covered = file && write(file.number(), "2\n", 2) == 2 && unshare(CLONE_NEWNS) == 0 &&
                         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount(path.c_str(), kSysctl, nullptr, MS_BIND, nullptr) == 0;
    unlink(path.c_str());
    if (!covered || !refuse(SYS_io_uring_setup, EPERM)) return "could not cover the sysctl";
    const auto backend = KernelBackend::open(
        {.local = loopback(AddressFamily::ipv4), .engine = EngineChoice::io_uring});
    if (backend) return "it opened";
    const std::string& context = backend.error().context;
    return context.find("kernel.io_uring_disabled is 2; set it to 0") == std::string::npos ? context
                                                                                           : "";
  });
}

}  // namespace
}  // namespace longhaul::io::kernel
