// SPDX-License-Identifier: Apache-2.0
// What concerns the process as a whole: its id in a file, its cores, its life in the background.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "apps/common/affinity.hpp"
#include "apps/common/daemon.hpp"
#include "apps/common/key_file.hpp"
#include "apps/common/pid_file.hpp"
#include "apps/common/standard_descriptors.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps {
namespace {

using testing::HasSubstr;

std::string own_id() {
  return std::to_string(::getpid()) + "\n";
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(PidFile, HoldsTheIdAndGoesWithTheProcess) {
  const TemporaryFolder folder;
  {
    const auto file = PidFile::create(folder.file("pid"));
    ASSERT_TRUE(file) << file.error().context;
    EXPECT_EQ(TemporaryFolder::read(folder.file("pid")), own_id());
  }
  EXPECT_EQ(folder.entries(), 0u);
}

/// A process that holds the pidfile until this goes.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) ADD_FAILURE() << "no pipe";
    id_ = ::fork();
    if (id_ == 0) {
      const auto file = PidFile::create(path);
      const char made = file ? 1 : 0;
      if (::write(ends[1], &made, 1) == 1) ::pause();
      ::_exit(1);
    }
    char made = 0;
    EXPECT_EQ(::read(ends[0], &made, 1), 1);
    EXPECT_EQ(made, 1);
    for (const int end : ends) ::close(end);
  }
  ~Holder() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  std::string id() const { return std::to_string(id_); }
  /// It stays a zombie: its number is not free.
  void kill() const { ::kill(id_, SIGKILL); }

 private:
  pid_t id_ = 0;
};

TEST(PidFile, OfALivingProcessIsRespected) {
  const TemporaryFolder folder;
  const Holder holder(folder.file("pid"));
  const auto refused = PidFile::create(folder.file("pid"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().context, HasSubstr("process " + holder.id() + ", which runs"));
  EXPECT_EQ(TemporaryFolder::read(folder.file("pid")), holder.id() + "\n");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(PidFile, IsCheckedWithoutAppearing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(PidFile::check(folder.file("pid")));
  EXPECT_EQ(folder.entries(), 0u);
  EXPECT_FALSE(PidFile::check(folder.file("nowhere/pid")));
  const Holder holder(folder.file("pid"));
  EXPECT_EQ(PidFile::check(folder.file("pid")).error().code, ErrorCode::address_in_use);
}

TEST(PidFile, OfAKilledProcessIsReplacedAtOnce) {
  const TemporaryFolder folder;
  const Holder holder(folder.file("pid"));
  holder.kill();
  const auto file = PidFile::create(folder.file("pid"));
  ASSERT_TRUE(file) << file.error().context;
  EXPECT_EQ(TemporaryFolder::read(folder.file("pid")), own_id());
}

TEST(PidFile, WithTheNumberOfAProcessThatDoesNotHoldItIsReplaced) {
  const TemporaryFolder folder;
  for (const std::string& stale :
       {std::to_string(::getppid()), std::string("nonsense"), std::string()}) {
    write(folder.file("pid"), stale);
    const auto file = PidFile::create(folder.file("pid"));
    ASSERT_TRUE(file) << stale << file.error().context;
    EXPECT_EQ(TemporaryFolder::read(folder.file("pid")), own_id());
  }
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(PidFile, OfManyThatStartAtOnceOneGetsIt) {
  const TemporaryFolder folder;
  for (const bool stale : {false, true}) {
    if (stale) write(folder.file("pid"), "1");
    std::vector<pid_t> starters(8);
    for (pid_t& starter : starters) {
      starter = ::fork();
      if (starter > 0) continue;
      const auto file = PidFile::create(folder.file("pid"));
      ::usleep(1'500'000);  // longer than the others try
      ::_exit(file ? 0 : 1);
    }
    int got_it = 0;
    for (const pid_t starter : starters) {
      int status = 0;
      ::waitpid(starter, &status, 0);
      got_it += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    EXPECT_EQ(got_it, 1) << stale;
    EXPECT_EQ(folder.entries(), 1u);
  }
}

TEST(PidFile, IsNoLinkFolderOrDevice) {
  const TemporaryFolder folder;
  write(folder.file("precious"), "precious");
  std::filesystem::create_symlink(folder.file("precious"), folder.file("link"));
  std::filesystem::create_directory(folder.file("folder"));
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  for (const std::string& path : {folder.file("link"), folder.file("folder"), folder.file("fifo"),
                                  std::string("/dev/null")}) {
    const auto refused = PidFile::create(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_THAT(refused.error().context, HasSubstr("not a regular file"));
  }
  EXPECT_EQ(TemporaryFolder::read(folder.file("precious")), "precious");
  EXPECT_EQ(folder.entries(), 4u);
}

TEST(PidFile, ThatBelongsToAnotherByNowIsLeftAlone) {
  const TemporaryFolder folder;
  {
    const auto file = PidFile::create(folder.file("pid"));
    write(folder.file("pid"), "1\n");
  }
  EXPECT_EQ(TemporaryFolder::read(folder.file("pid")), "1\n");
}

TEST(PidFile, ThatCannotBeWrittenIsNamed) {
  const auto refused = PidFile::create("/nonexistent/pid");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().context, HasSubstr("/nonexistent/pid"));
}

TEST(KeyFile, IsMadeOnceForItsOwnerAlone) {
  const TemporaryFolder folder;
  const auto made = read_or_make_key(folder.file("key"));
  ASSERT_TRUE(made) << made.error().context;
  EXPECT_EQ(made->size(), 32u);
  EXPECT_EQ(read_or_make_key(folder.file("key")).value(), *made);
  EXPECT_NE(read_or_make_key(folder.file("other")).value(), *made);
  EXPECT_EQ(std::filesystem::status(folder.file("key")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(KeyFile, OfAnotherSizeOrOpenToOthersIsRefused) {
  const TemporaryFolder folder;
  for (const std::size_t bytes : {0u, 15u, 33u}) {
    const auto refused = read_or_make_key(folder.write("key", std::string(bytes, 'k')));
    ASSERT_FALSE(refused) << bytes;
    EXPECT_THAT(refused.error().context, HasSubstr("16 or 32"));
  }
  folder.write("key", std::string(16, 'k'));
  const auto open = read_or_make_key(folder.file("key"));
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().context, HasSubstr("chmod 600"));
  std::filesystem::permissions(folder.file("key"), std::filesystem::perms::owner_read);
  EXPECT_EQ(read_or_make_key(folder.file("key")).value(), std::string(16, 'k'));
  const auto nowhere = read_or_make_key("/nonexistent/key");
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().context, HasSubstr("/nonexistent/key"));
}

TEST(SecretFile, IsItsOwnersAndReplacesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("key");
  EXPECT_EQ(make_secret_file(path, "one"), true);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(make_secret_file(path, "two"), false);
  EXPECT_EQ(TemporaryFolder::read(path), "one");
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_FALSE(make_secret_file("/nonexistent/key", "one"));
}

TEST(ThreadPinning, MovesOtherThreadsAndBack) {
  std::atomic<pid_t> other = 0;
  std::atomic<bool> leave = false;
  std::thread thread([&] {
    other = ::gettid();
    while (!leave) ::usleep(1000);
  });
  while (other == 0) ::usleep(1000);
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  unsigned cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  cpu_set_t now;
  {
    const auto pinning = ThreadPinning::pin_others(cpu);
    ASSERT_TRUE(pinning) << pinning.error().context;
    ASSERT_EQ(::sched_getaffinity(other, sizeof now, &now), 0);
    EXPECT_EQ(CPU_COUNT(&now), 1);
    EXPECT_TRUE(CPU_ISSET(cpu, &now));
    ASSERT_EQ(::sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT_TRUE(CPU_EQUAL(&now, &allowed));
  }
  ASSERT_EQ(::sched_getaffinity(other, sizeof now, &now), 0);
  EXPECT_TRUE(CPU_EQUAL(&now, &allowed));
  leave = true;
  thread.join();
  const auto refused = ThreadPinning::pin_others(1023);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().context, HasSubstr("may use"));
}

/// Exit status of a process that begins with these descriptors closed.
template <typename Body>
int status_without(std::initializer_list<int> closed, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int descriptor : closed) ::close(descriptor);
    ::_exit(hold_standard_descriptors() ? body() : 99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardDescriptors, AreNotGivenToWhatIsOpenedLater) {
  const auto next_is_above = [] { return ::dup(STDERR_FILENO) > STDERR_FILENO ? 0 : 1; };
  EXPECT_EQ(status_without({}, next_is_above), 0);
  EXPECT_EQ(status_without({0}, next_is_above), 0);
  EXPECT_EQ(status_without({1}, next_is_above), 0);
  EXPECT_EQ(status_without({2}, next_is_above), 0);
  EXPECT_EQ(status_without({0, 2}, next_is_above), 0);
  EXPECT_EQ(status_without({0, 1, 2}, next_is_above), 0);
}

TEST(StandardDescriptors, ThatWereClosedStayOfNoUse) {
  EXPECT_EQ(status_without({0, 1, 2},
                           [] {
                             char byte = 0;
                             const bool reads = ::read(STDIN_FILENO, &byte, 1) >= 0;
                             const bool writes = ::write(STDOUT_FILENO, &byte, 1) >= 0;
                             const bool complains = ::write(STDERR_FILENO, &byte, 1) >= 0;
                             return reads || writes || complains ? 1 : 0;
                           }),
            0);
}

/// Exit status of a process that becomes a daemon and then does `body`.
template <typename Body>
int status_of_start(Body body) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    auto daemon = Daemon::start();
    ::_exit(daemon ? body(*daemon) : 99);
  }
  int status = 0;
  ::waitpid(starter, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Daemon, LetsItsStarterGoOnceItIsReady) {
  const TemporaryFolder folder;
  const std::string proof = folder.file("proof");
  EXPECT_EQ(status_of_start([&](Daemon& daemon) {
              if (!daemon.ready()) return 1;
              std::ofstream(proof + ".new") << ::getsid(0) - ::getpid();
              ::rename((proof + ".new").c_str(), proof.c_str());
              return 7;
            }),
            0);
  for (int i = 0; i < 500 && TemporaryFolder::read(proof).empty(); ++i) ::usleep(10'000);
  EXPECT_EQ(TemporaryFolder::read(proof), "0") << "it leads a session of its own";
}

TEST(Daemon, ThatFailsToStartGivesItsStarterItsStatus) {
  EXPECT_EQ(status_of_start([](Daemon&) { return 3; }), 3);
  EXPECT_EQ(status_of_start([](Daemon&) { return 0; }), 1) << "never ready is no success";
}

}  // namespace
}  // namespace longhaul::apps
