# SPDX-License-Identifier: Apache-2.0
"""Certificates at both ends: believed and refused."""

from authority import Authority
from bad_input import told_off
from harness import case, digest_ok, expect, free_port
from keys import CIPHERS, SMALL, refused, serves


class Ends:
    """A root, and a certificate of it for each end."""

    def __init__(self, bench):
        self.root = Authority(bench.folder, 'root')
        self.server = self.root.issue('server.example')
        self.client = self.root.issue('client.example')
        self.trust = ('--ca', self.root.own.pem)
        self.server_words = self.server.flags(*self.trust)
        self.client_words = self.client.flags(*self.trust)


def talk(bench, server_words, client_words, peer):
    """One test; the client names `peer` as who the server has proven to be."""
    port = free_port()
    server = bench.server(port, name=f'server{len(bench.processes)}', security=server_words)
    client = bench.client('127.0.0.1', port, '-J', *SMALL, name=f'client{len(bench.processes)}',
                          security=client_words)
    bench.finish(server, client)
    digest_ok(server)
    start = client.json()['start']
    plain = peer.fingerprint().replace(':', '').lower()
    shown = start['peer_identity'].replace(':', '').lower()
    expect(start['security'] == 'certificates' and start['cipher'] in CIPHERS, start)
    expect(start['peer_identity'].startswith(f'certificate CN={peer.name} '), start)
    expect(shown.endswith(f'sha256{plain}'), f'{start}\n{plain}')
    return server, client


@case
def certificates_of_one_authority_are_believed(bench):
    ends = Ends(bench)
    server, _ = talk(bench, ends.server_words, ends.client_words, ends.server)
    expect('certificate CN=client.example' in server.output, server.story())
    talk(bench, (*ends.server_words, '--peer-name', 'client.example'),
         (*ends.client_words, '--peer-name', 'server.example'), ends.server)


@case
def certificates_of_an_authority_below_the_root_are_believed(bench):
    root = Authority(bench.folder, 'root')
    region = Authority(bench.folder, 'region', above=root)
    server, client = region.issue('server.example'), region.issue('client.example')
    trust = ('--ca', root.own.pem)
    talk(bench, server.flags(*trust), client.flags(*trust), server)


@case
def certificates_of_another_authority_are_refused(bench):
    ends = Ends(bench)
    other = Authority(bench.folder, 'other')
    strangers = other.issue('client.example')
    # The server does not believe the client, and the client not the server.
    server, _, port = refused(bench, ends.server_words, strangers.flags(*ends.trust),
                              'certificate', 'ca')
    serves(bench, server, port, ends.client_words)
    refused(bench, ends.server_words, ends.client.flags('--ca', other.own.pem), 'certificate', 'ca',
            by_server=False)


@case
def certificates_that_have_expired_are_refused(bench):
    ends = Ends(bench)
    late = ends.root.issue('late.example', days=-1).flags(*ends.trust)
    server, _, port = refused(bench, ends.server_words, late, 'expired')
    serves(bench, server, port, ends.client_words)
    refused(bench, late, ends.client_words, 'expired', by_server=False)


@case
def certificates_of_another_name_are_refused(bench):
    ends = Ends(bench)
    refused(bench, ends.server_words, (*ends.client_words, '--peer-name', 'other.example'),
            'server.example', 'other.example', by_server=False)
    server, _, port = refused(bench, (*ends.server_words, '--peer-name', 'client.example'),
                              ends.root.issue('guest.example').flags(*ends.trust), 'certificate')
    serves(bench, server, port, ends.client_words)


@case
def certificates_pinned_by_fingerprint_need_no_authority(bench):
    ends = Ends(bench)
    pins = [('--peer-fingerprint', end.fingerprint()) for end in (ends.client, ends.server)]
    talk(bench, ends.server.flags(*pins[0]), ends.client.flags(*pins[1]), ends.server)
    plain = ('--peer-fingerprint',
             f'{"ab" * 32},{ends.server.fingerprint().replace(":", "").lower()}')
    talk(bench, ends.server.flags(*pins[0]), ends.client.flags(*plain), ends.server)
    server, _, port = refused(bench, ends.server.flags(*pins[0]),
                              ends.root.issue('guest.example').flags(*pins[1]), 'certificate')
    serves(bench, server, port, ends.client.flags(*pins[1]))
    refused(bench, ends.server.flags(*pins[0]), ends.client.flags(*pins[0]), 'fingerprint',
            by_server=False)


@case
def certificate_files_that_do_not_work_are_named(bench):
    ends = Ends(bench)
    own, trust = ends.client, ends.trust

    def refuse(name, security, *words):
        told_off(bench.client('127.0.0.1', free_port(), name=name, security=security), *words,
                 seconds=5)
    refuse('half', ('--cert', own.pem, *trust), '--cert-key is not set')
    refuse('nobody', own.flags(), '--ca', '--peer-fingerprint')
    refuse('both', own.flags(*trust, '--peer-fingerprint', 'ab' * 32), '--peer-fingerprint',
           'one of them')
    refuse('no-fingerprint', own.flags('--peer-fingerprint', 'abc'), '--peer-fingerprint')
    refuse('no-ca', own.flags('--ca', bench.folder / 'nothing.pem'), 'nothing.pem', 'no such file')
    refuse('other-key', ('--cert', own.pem, '--cert-key', ends.server.key, *trust),
           f'--cert-key {ends.server.key} does not belong to --cert {own.pem}')
    refuse('cert-is-a-key', ('--cert', own.key, '--cert-key', own.key, *trust),
           f'error: invalid_argument: --cert {own.key} holds no certificate')
    no_key = bench.folder / 'no-key.pem'
    no_key.touch(mode=0o600)
    no_key.write_text(own.pem.read_text())
    refuse('key-is-a-cert', ('--cert', own.pem, '--cert-key', no_key, *trust),
           f'error: invalid_argument: --cert-key {no_key} holds no private key')
    refuse('ca-is-a-key', own.flags('--ca', own.key),
           f'error: invalid_argument: --ca {own.key} holds no certificate')
    refuse('mixed', (*own.flags(*trust), '--key', own.key), '--key')
    own.key.chmod(0o644)
    refuse('open-key', own.flags(*trust), f'--cert-key {own.key}', f'    chmod 600 {own.key}')
