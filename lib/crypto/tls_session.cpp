// SPDX-License-Identifier: Apache-2.0
#include "lib/crypto/tls_session.hpp"

#include "lib/base/assert.hpp"
#include "lib/crypto/openssl.hpp"
#include "lib/crypto/tls_context.hpp"
#include "lib/crypto/tls_credentials.hpp"
#include "lib/crypto/tls_words.hpp"

namespace longhaul::crypto {
namespace {

constexpr std::size_t kReceiveMax = std::size_t{256} << 10;
constexpr std::uint16_t kChaChaSuite = 0x1303;
constexpr std::string_view kExporterLabel = "EXPORTER-longhaul";

Secret exported(SSL& ssl, std::string_view sender) {
  Secret secret;
  const auto out = secret.writable();
  const int done = SSL_export_keying_material(
      &ssl, writable_octets(out), out.size(), kExporterLabel.data(), kExporterLabel.size(),
      octets(std::as_bytes(std::span(sender))), sender.size(), 1);
  LONGHAUL_ASSERT(done == 1);
  return secret;
}

}  // namespace

class TlsSession::Impl {
 public:
  Impl(TlsCredentials& credentials, TlsRole role, std::span<const std::byte> parameters,
       std::string_view peer)
      : state_{credentials, role, std::string(peer), {parameters.begin(), parameters.end()},
               {},          {}} {
    if (!set_up()) failure_ = "no memory for a TLS handshake; close connections and try again";
  }
  ~Impl() {
    // Else OpenSSL takes it for a session cut off, and would not resume it.
    if (ssl_ != nullptr && finished_) {
      SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void receive(std::span<const std::byte> bytes);
  void take_output(std::vector<std::byte>& out);
  bool finished() const noexcept { return finished_; }
  const std::optional<std::string>& failure() const noexcept { return failure_; }
  std::span<const std::byte> peer_parameters() const noexcept {
    return finished_ ? std::span<const std::byte>(state_.peer_parameters)
                     : std::span<const std::byte>{};
  }
  std::string peer_identity() const;
  // To OpenSSL an external pre-shared key is a session that goes on.
  bool resumed() const noexcept {
    return finished_ && state_.credentials.psk() == nullptr && SSL_session_reused(ssl_.get()) == 1;
  }
  TrafficSecrets secrets() const;

 private:
  bool set_up();
  void offer_session();
  void shake_hands();
  void read_tickets();

  TlsState state_;
  SslPtr ssl_;
  BIO* in_ = nullptr;   // ssl_'s
  BIO* out_ = nullptr;  // ssl_'s
  bool finished_ = false;
  std::optional<std::string> failure_;
  std::size_t received_ = 0;
  bool deaf_ = false;
};

bool TlsSession::Impl::set_up() {
  const ErrorScope errors;
  BioPtr in(BIO_new(BIO_s_mem()));
  BioPtr out(BIO_new(BIO_s_mem()));
  ssl_.reset(SSL_new(state_.credentials.context(state_.role)));
  if (in == nullptr || out == nullptr || ssl_ == nullptr) return false;
  // Empty means more to come, not the end.
  BIO_set_mem_eof_return(in.get(), -1);
  BIO_set_mem_eof_return(out.get(), -1);
  in_ = in.release();
  out_ = out.release();
  SSL_set_bio(ssl_.get(), in_, out_);
  set_state(*ssl_, state_);
  if (state_.role == TlsRole::server) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
    offer_session();
  }
  return true;
}

void TlsSession::Impl::offer_session() {
  const SslSessionPtr session = state_.credentials.sessions().take(state_.peer);
  if (session == nullptr || SSL_SESSION_is_resumable(session.get()) != 1) return;
  if (!state_.credentials.rule().still_believed(SSL_SESSION_get0_peer(session.get()))) return;
  SSL_set_session(ssl_.get(), session.get());
}

void TlsSession::Impl::receive(std::span<const std::byte> bytes) {
  if (failure_ || deaf_) return;
  received_ += bytes.size();
  if (received_ > kReceiveMax) {
    deaf_ = true;
    if (!finished_) {
      failure_ = "the peer's handshake is larger than " + std::to_string(kReceiveMax / 1024) +
                 " KiB; use a shorter certificate chain";
    }
    return;
  }
  const ErrorScope errors;
  if (!bytes.empty() &&
      BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())) != std::ssize(bytes)) {
    failure_ = "no memory for a TLS handshake; close connections and try again";
    return;
  }
  if (!finished_) shake_hands();
  if (finished_) read_tickets();
}

void TlsSession::Impl::shake_hands() {
  const int done = SSL_do_handshake(ssl_.get());
  if (done == 1) {
    finished_ = true;
    return;
  }
  if (SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ) return;
  failure_ =
      !state_.refusal.empty() ? state_.refusal : explain_error(state_.credentials, state_.role);
}

// Nobody has anything to say here but tickets, and an alert: a server may refuse a client's
// certificate when the client is done already.
void TlsSession::Impl::read_tickets() {
  std::array<std::byte, 256> ignored;
  int read = 1;
  while (read > 0) read = SSL_read(ssl_.get(), ignored.data(), static_cast<int>(ignored.size()));
  const int error = SSL_get_error(ssl_.get(), read);
  if (error == SSL_ERROR_WANT_READ) return;
  deaf_ = true;
  const unsigned long newest = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(newest);
  if (ERR_GET_LIB(newest) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET) {
    failure_ = explain_alert(reason - SSL_AD_REASON_OFFSET, state_.credentials);
  }
}

void TlsSession::Impl::take_output(std::vector<std::byte>& out) {
  const std::size_t waiting = out_ == nullptr ? 0 : BIO_ctrl_pending(out_);
  if (waiting == 0) return;
  const std::size_t before = out.size();
  out.resize(before + waiting);
  const int read = BIO_read(out_, out.data() + before, static_cast<int>(waiting));
  out.resize(before + static_cast<std::size_t>(std::max(read, 0)));
}

std::string TlsSession::Impl::peer_identity() const {
  if (!finished_) return {};
  if (const PskKey* const psk = state_.credentials.psk()) return "psk " + psk->identity;
  const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return {};
  return "certificate " + subject_of(*certificate) +
         " sha256:" + to_string(fingerprint_of(*certificate));
}

TrafficSecrets TlsSession::Impl::secrets() const {
  if (!finished_) return {};
  const ErrorScope errors;
  SSL& ssl = *ssl_;
  const bool client = state_.role == TlsRole::client;
  const bool chacha = SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(&ssl)) == kChaChaSuite;
  TrafficSecrets secrets;
  secrets.cipher = chacha ? PacketCipher::chacha20_poly1305 : PacketCipher::aes_128_gcm;
  secrets.send = exported(ssl, client ? "client" : "server");
  secrets.receive = exported(ssl, client ? "server" : "client");
  return secrets;
}

TlsSession::TlsSession(Credentials& credentials, TlsRole role,
                       std::span<const std::byte> parameters, std::string_view peer)
    : impl_(std::make_unique<Impl>(static_cast<TlsCredentials&>(credentials), role, parameters,
                                   peer)) {}
TlsSession::~TlsSession() = default;

void TlsSession::receive(std::span<const std::byte> bytes) {
  impl_->receive(bytes);
}

void TlsSession::take_output(std::vector<std::byte>& out) {
  impl_->take_output(out);
}

bool TlsSession::finished() const noexcept {
  return impl_->finished();
}

const std::optional<std::string>& TlsSession::failure() const noexcept {
  return impl_->failure();
}

std::span<const std::byte> TlsSession::peer_parameters() const noexcept {
  return impl_->peer_parameters();
}

std::string TlsSession::peer_identity() const {
  return impl_->peer_identity();
}

bool TlsSession::resumed() const noexcept {
  return impl_->resumed();
}

TrafficSecrets TlsSession::secrets() const {
  return impl_->secrets();
}

}  // namespace longhaul::crypto
