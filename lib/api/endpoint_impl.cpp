// SPDX-License-Identifier: Apache-2.0
// Opening, turning and closing; endpoint_calls.cpp has what the application asks.
#include "lib/api/endpoint_impl.hpp"

#include <sched.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "lib/api/backend_factory.hpp"
#include "lib/api/entry.hpp"
#include "lib/api/wipe.hpp"
#include "lib/crypto/secret_random.hpp"
#include "lib/endpoint/endpoint.hpp"

namespace longhaul::api {
namespace {

// How long a closing endpoint stays to tell its peers; beyond injected delays, which hold the
// telling back. Above the bound a peer has noticed by itself.
constexpr Duration kLinger = std::chrono::milliseconds(20);
constexpr Duration kLingerMax = std::chrono::seconds(2);
// How long a waiting thread sleeps while another one turns the worker.
constexpr Duration kTurnPatience = std::chrono::milliseconds(1);
constexpr std::uint32_t kBucketsMin = 256;
constexpr std::uint32_t kBucketsMax = 16384;
constexpr std::size_t kDatagramMin = 1200;
// Requests that may wait for the worker: a thread of its own may sleep a while, and a caller that
// polls may post for long before it does. A simulated worker is turned when its mailbox is full.
constexpr std::size_t kMailbox = 16384;
constexpr std::size_t kSimulatedMailbox = 1024;
constexpr const char* kWorkerName = "longhaul-0";

Result<crypto::Secret> system_entropy() {
  crypto::Secret entropy;
  const auto bytes = entropy.writable();
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorCode::system, "the system gives no random bytes; allow the process getrandom",
                errno);
  }
  return entropy;
}

Duration linger_of(const EndpointConfig::InjectedFaults& inject) {
  const Duration held = inject.delay + (inject.reorder > 0 ? inject.reorder_delay : Duration{0});
  return std::min(kLinger + held, kLingerMax);
}

std::size_t largest_datagram(const EndpointConfig& config, const io::Backend& backend) {
  return std::min(backend.capabilities().datagram_max,
                  config.mtu_max - ip_udp_overhead(config.local.family));
}

}  // namespace

Result<std::shared_ptr<EndpointImpl>> EndpointImpl::open(EndpointConfig config) {
  const Wiper psk_wiper(config.psk);
  const Wiper reset_key_wiper(config.stateless_reset_key);
  try {
    const auto checked = check_config(config);
    if (!checked) return tl::unexpected(checked.error());
    auto keys = load_credentials(config, checked->security);
    if (!keys) return tl::unexpected(keys.error());
    wipe(config.psk);
    auto entropy = system_entropy();
    if (!entropy) return tl::unexpected(entropy.error());
    crypto::SecretRandom random(*entropy);
    const std::uint64_t seed = config.seed.value_or(random.next());
    auto backend = open_backend(config);
    if (!backend) return tl::unexpected(backend.error());

    Foundation foundation;
    foundation.backend = with_faults(std::move(*backend), config, seed, foundation.payload_mode);
    foundation.clock = std::make_shared<runtime::MachineClock>();
    foundation.entropy = random.secret();
    foundation.keys = std::move(*keys);
    return start(std::move(config), *checked, std::move(foundation));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::budget_exceeded, "out of memory");
  }
}

Result<std::shared_ptr<EndpointImpl>> EndpointImpl::start(EndpointConfig config,
                                                          const CheckedConfig& checked,
                                                          Foundation foundation) {
  const std::size_t datagram = largest_datagram(config, *foundation.backend);
  if (datagram < kDatagramMin) {
    return fail(ErrorCode::unsupported, "the interface takes datagrams of " +
                                            std::to_string(datagram) +
                                            " bytes only; the handshake needs 1200");
  }
  const std::string keys = foundation.keys.description;
  auto impl = std::make_shared<EndpointImpl>(std::move(config), checked, std::move(foundation));
  impl->log_opening(checked, keys);
  if (auto launched = impl->launch(); !launched) return tl::unexpected(launched.error());
  return impl;
}

EndpointImpl::EndpointImpl(EndpointConfig config, const CheckedConfig& checked,
                           Foundation&& foundation)
    : config_(std::move(config)),
      logger_(config_.log),
      clock_(std::move(foundation.clock)),
      driver_(std::move(foundation.driver)),
      local_(foundation.backend->local_address()),
      completions_(config_.completions_max),
      accepts_(std::bit_ceil(config_.connections_max)) {
  const std::size_t buckets =
      std::bit_ceil(std::clamp(config_.transfers_max, kBucketsMin, kBucketsMax));
  router_ = std::make_unique<EventRouter>(*this, completions_, accepts_, logger_, buckets);

  endpoint::Environment environment(foundation.entropy);
  environment.make_controller = checked.make_controller;
  environment.payload_mode = foundation.payload_mode;
  environment.datagram_max = largest_datagram(config_, *foundation.backend);
  environment.departure_times = foundation.backend->capabilities().departure_times;
  environment.family = local_.family;
  environment.credentials = std::move(foundation.keys.credentials);
  runtime::WorkerOptions options;
  options.datagram_max = environment.datagram_max;
  options.sealing_copies = environment.credentials != nullptr;
  options.payload_mode = foundation.payload_mode;
  options.mailbox_capacity = driver_ == nullptr ? kMailbox : kSimulatedMailbox;
  worker_ = std::make_unique<runtime::Worker>(
      std::move(foundation.backend), std::make_unique<endpoint::Endpoint>(config_, environment),
      *router_, options);
  wipe(config_.stateless_reset_key);
  own_memory_ = worker_->memory() + buckets * sizeof(void*) +
                std::uint64_t{config_.completions_max} * sizeof(Completion);
  memory_budget_ = checked.memory_budget + own_memory_;
}

EndpointImpl::~EndpointImpl() {
  if (!foreign()) {
    close();
    return;
  }
  // A forked child: sockets, rings and memory shared with the kernel are the parent's business.
  (void)worker_.release();
  (void)router_.release();
  completions_.forget_descriptor();
}

void EndpointImpl::log_opening(const CheckedConfig& checked, std::string_view keys) const {
  if (checked.security == Security::none) {
    logger_.log(LogLevel::warning,
                "security is none: anybody on the line can read and change what is sent");
  } else {
    logger_.log(LogLevel::info, "security: own key is " + std::string(keys));
  }
  logger_.log(LogLevel::info, "budget: " + checked.arithmetic + "; the endpoint itself " +
                                  std::to_string((own_memory_ >> 20) + 1) + " MiB");
}

Result<void> EndpointImpl::launch() {
  if (driver_ != nullptr) return {};
  if (auto opened = completions_.open_descriptor(); !opened) return opened;
  if (config_.threads == ThreadMode::caller_polls) return {};
  return thread_.start(kWorkerName, config_.worker_cpu, [this] { run_worker(); });
}

void EndpointImpl::run_worker() {
  try {
    worker_->run(*clock_, stop_);
  } catch (const std::exception& error) {
    fail_worker(error.what(), 0);
    return;
  }
  end_worker();
}

void EndpointImpl::end_worker() {
  try {
    worker_->wind_up(*clock_, "endpoint closed", linger_of(config_.inject));
    router_->finish(Status::closed, "the endpoint was closed");
  } catch (const std::exception& error) {
    fail_worker(error.what(), 0);
  }
}

// What can be thrown here is a lack of memory. The core cannot be trusted after that, but nobody
// may be left waiting; `inside` calls of this thread are on the way.
void EndpointImpl::fail_worker(std::string_view why, std::uint32_t inside) {
  logger_.log(LogLevel::error, why);
  closing_.store(true, std::memory_order_seq_cst);
  while (inside_.load(std::memory_order_seq_cst) > inside) sched_yield();
  worker_->abandon_requests();
  router_->finish(Status::internal, "the worker failed");
}

bool EndpointImpl::turn_if_free(Duration longest_sleep) {
  const Entry entry(*this);
  if (!entry || turning_.exchange(true, std::memory_order_acquire)) return false;
  bool worked = false;
  try {
    const Timestamp now = clock_->now();
    worked = worker_->run_once(now);
    if (!worked) worker_->sleep(now, longest_sleep);
  } catch (const std::exception& error) {
    fail_worker(error.what(), 1);
  }
  turning_.store(false, std::memory_order_release);
  return worked;
}

bool EndpointImpl::run_once() {
  if (driver_ != nullptr || config_.threads != ThreadMode::caller_polls) return false;
  return turn_if_free(Duration::zero());
}

bool EndpointImpl::wait(runtime::WaitWord& word, const std::function<bool()>& done,
                        std::optional<Duration> timeout) {
  const Timestamp start = clock_->now();
  const bool endless = !timeout || *timeout > kNever - start;
  const Timestamp end = endless ? kNever : start + *timeout;
  for (;;) {
    const std::uint32_t prepared = word.prepare();
    if (done()) return true;
    const Timestamp now = clock_->now();
    if (foreign() || now >= end) return false;
    const bool somebody_turns =
        config_.threads == ThreadMode::worker_threads || closing_.load(std::memory_order_relaxed);
    if (driver_ != nullptr) {
      if (!driver_->drive(end)) return done();
    } else if (somebody_turns) {
      word.wait(prepared, endless ? std::optional<Duration>() : end - now);
    } else if (turning_.load(std::memory_order_relaxed)) {
      word.wait(prepared, std::min(end - now, kTurnPatience));
    } else {
      turn_if_free(end - now);
    }
  }
}

void EndpointImpl::nudge() {
  if (driver_ != nullptr) {
    driver_->poke();
  } else {
    worker_->nudge();
  }
}

void EndpointImpl::close() {
  // On the worker (a log sink that calls back) closing would wait for itself.
  if (foreign() || thread_.is_current()) return;
  const std::lock_guard lock(close_mutex_);
  if (closed_.load(std::memory_order_relaxed)) return;
  router_->begin_closing();
  closing_.store(true, std::memory_order_seq_cst);
  stop_.store(true, std::memory_order_release);
  worker_->nudge();
  while (inside_.load(std::memory_order_seq_cst) != 0) sched_yield();

  if (driver_ != nullptr) driver_->leave();
  if (thread_.running()) {
    thread_.join();
  } else {
    end_worker();
  }
  completions_.finish();
  completions_.close_descriptor();
  std::shared_ptr<ConnectionState> never_accepted;
  while (accepts_.ring.try_pop(never_accepted)) never_accepted.reset();
  accepts_.waiting.notify();
  regions_.clear();
  worker_.reset();
  router_.reset();
  closed_.store(true, std::memory_order_release);
}

}  // namespace longhaul::api
