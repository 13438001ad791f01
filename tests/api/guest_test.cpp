// SPDX-License-Identifier: Apache-2.0
// The library's manners as a guest in somebody else's process.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "tests/api/fixture.hpp"

extern char** environ;

namespace longhaul::tests {
namespace {

class Guest : public PairTest {
 protected:
  void move_something() {
    const auto source = pattern(100'000);
    std::vector<std::uint8_t> target(source.size());
    const auto receive = to_client_.recv_tensor(1, view(target));
    const auto send = to_server_.send_tensor(1, view(source));
    ASSERT_TRUE(receive && send);
    ASSERT_EQ(end_of(*receive), Status::completed);
    ASSERT_EQ(end_of(*send), Status::completed);
    ASSERT_EQ(target, source);
  }
  void close() {
    client_.close();
    server_.close();
  }
};

std::multiset<std::string> thread_names() {
  std::multiset<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    std::getline(file, name);
    names.insert(name);
  }
  return names;
}

std::set<int> descriptors() {
  std::set<int> numbers;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && number != dirfd(directory)) numbers.insert(number);
  }
  closedir(directory);
  return numbers;
}

std::vector<std::string> environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

std::map<int, void*> signal_handlers() {
  std::map<int, void*> handlers;
  for (int number = 1; number < SIGRTMAX; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    handlers[number] = reinterpret_cast<void*>(action.sa_handler);
  }
  return handlers;
}

TEST_F(Guest, writes_nothing_to_stdout_or_stderr) {
  std::fflush(nullptr);
  const int file = memfd_create("output", MFD_CLOEXEC);
  const int out = dup(STDOUT_FILENO);
  const int error = dup(STDERR_FILENO);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  ASSERT_NO_FATAL_FAILURE(connect());
  move_something();
  EXPECT_FALSE(client_.connect(loopback(0)));
  close();
  EndpointConfig bad = test_config();
  bad.security.clear();
  EXPECT_FALSE(Endpoint::open(bad));
  std::fflush(nullptr);
  dup2(out, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  struct stat written {};
  fstat(file, &written);
  EXPECT_EQ(written.st_size, 0);
  for (const int descriptor : {file, out, error}) ::close(descriptor);
}

TEST_F(Guest, leaves_the_callers_affinity_alone) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  unsigned cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  ASSERT_NO_FATAL_FAILURE(connect([cpu](EndpointConfig& config) { config.worker_cpu = cpu; }));
  move_something();
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST_F(Guest, opens_every_descriptor_with_cloexec_and_closes_it_again) {
  const auto before = descriptors();
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_GE(client_.completion_fd(), 0);
  move_something();
  int opened = 0;
  for (const int descriptor : descriptors()) {
    if (before.contains(descriptor)) continue;
    ++opened;
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << descriptor;
  }
  EXPECT_GE(opened, 2);
  close();
  EXPECT_EQ(descriptors(), before);
}

TEST_F(Guest, names_its_threads_and_ends_them) {
  const auto before = thread_names();
  ASSERT_NO_FATAL_FAILURE(connect());
  EXPECT_EQ(thread_names().count("longhaul-0"), before.count("longhaul-0") + 2);
  close();
  EXPECT_EQ(thread_names(), before);
}

TEST_F(Guest, changes_no_signal_handler_and_no_environment) {
  const auto handlers = signal_handlers();
  const auto variables = environment();
  sigset_t mask_before;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_before);
  ASSERT_NO_FATAL_FAILURE(connect());
  move_something();
  EXPECT_EQ(signal_handlers(), handlers);
  close();
  EXPECT_EQ(signal_handlers(), handlers);
  EXPECT_EQ(environment(), variables);
  sigset_t mask_after;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_after);
  for (int number = 1; number < SIGRTMAX; ++number) {
    EXPECT_EQ(sigismember(&mask_before, number), sigismember(&mask_after, number)) << number;
  }
}

std::atomic<pid_t> signalled_thread{0};

TEST_F(Guest, takes_no_signal_of_the_application) {
  ASSERT_NO_FATAL_FAILURE(connect());
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = [](int) { signalled_thread.store(gettid()); };
  sigaction(SIGUSR1, &action, &old);
  for (int i = 0; i < 20; ++i) {
    signalled_thread.store(0);
    kill(getpid(), SIGUSR1);
    while (signalled_thread.load() == 0) std::this_thread::yield();
    ASSERT_EQ(signalled_thread.load(), gettid());
  }
  sigaction(SIGUSR1, &old, nullptr);
}

TEST_F(Guest, two_pairs_live_side_by_side_and_one_ends_without_the_other) {
  ASSERT_NO_FATAL_FAILURE(connect());
  Endpoint other_server = Endpoint::open(test_config()).value();
  Endpoint other_client = Endpoint::open(test_config()).value();
  ASSERT_TRUE(other_server.listen());
  const auto connection = other_client.connect(other_server.local_address());
  ASSERT_TRUE(connection) << why(connection);
  ASSERT_TRUE(other_server.accept(kPatience));
  other_server.close();
  other_client = Endpoint();
  move_something();
}

// What a forked child's handles must answer; 0 if they do.
int check_in_child(Endpoint& server, Endpoint& client, Connection& connection, Transfer& transfer) {
  std::array<std::uint8_t, 4> memory{};
  const auto closed = [](const auto& result) {
    return !result && result.error().code == ErrorCode::closed;
  };
  Completion completion;
  if (connection.status() != Status::closed) return 1;
  if (transfer.status() != Status::closed) return 2;
  if (!closed(transfer.wait()) || !closed(transfer.cancel())) return 3;
  if (!closed(connection.recv_tensor(1, bytes_view(static_cast<void*>(memory.data()), 4)))) {
    return 4;
  }
  if (!closed(connection.close()) || !closed(connection.stats())) return 5;
  if (!closed(server.accept(seconds(1))) || !closed(server.listen())) return 6;
  if (!closed(client.connect(server.local_address()))) return 7;
  if (client.completion_fd() != -1 || client.poll({&completion, 1}) != 0) return 8;
  if (client.run_once() || !closed(client.stats())) return 9;
  if (!closed(client.register_memory(memory.data(), 4))) return 10;
  client.close();
  server = Endpoint();
  client = Endpoint();
  connection = Connection();
  transfer = Transfer();
  return 0;
}

TEST_F(Guest, a_forked_childs_handles_answer_closed_and_touch_nothing) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::vector<std::uint8_t> target(5000);
  auto receive = to_client_.recv_tensor(7, view(target)).value();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(check_in_child(server_, client_, to_server_, receive));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the number of the check that failed";
  const auto source = pattern(target.size());
  const auto send = to_server_.send_tensor(7, view(source));
  ASSERT_TRUE(send);
  EXPECT_EQ(end_of(receive), Status::completed) << "the parent must not notice";
  EXPECT_EQ(end_of(*send), Status::completed);
  EXPECT_EQ(target, source);
  move_something();
}

TEST_F(Guest, a_forked_child_may_open_its_own) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    server_ = Endpoint();
    auto own = Endpoint::open(test_config());
    if (!own) _exit(1);
    own->close();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Guest, a_log_sink_that_throws_or_calls_back_does_no_harm) {
  Endpoint* self = nullptr;
  EndpointConfig config = test_config();
  config.log = [&self](LogLevel, std::string_view) {
    if (self != nullptr) self->close();
    throw 1;
  };
  auto opened = Endpoint::open(config);
  ASSERT_TRUE(opened) << why(opened);
  Endpoint endpoint = std::move(*opened);
  self = &endpoint;
  ConnectOptions options;
  options.timeout = milliseconds(50);
  EXPECT_FALSE(endpoint.connect(loopback(9), options));
  self = nullptr;
  endpoint.close();
}

}  // namespace
}  // namespace longhaul::tests
