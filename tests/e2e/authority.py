# SPDX-License-Identifier: Apache-2.0
"""Certificates for the end-to-end cases, made with the openssl command."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness import Skip

# Its own, so that nothing depends on what the machine has in /etc/ssl.
CONFIGURATION = '''
[req]
distinguished_name = nobody
prompt = no
[nobody]
CN = nobody
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[end]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = {names}
'''


@dataclass
class Certificate:
    name: str
    pem: Path
    key: Path

    def flags(self, *trust):
        """Words for one end that shows this certificate."""
        return ('--cert', self.pem, '--cert-key', self.key, *trust)

    def fingerprint(self):
        text = openssl('x509', '-in', self.pem, '-noout', '-fingerprint', '-sha256')
        return text.strip().split('=')[1]


class Authority:
    """Signs; is signed by `above`, or by itself."""

    def __init__(self, folder, name, above=None):
        if shutil.which('openssl') is None:
            raise Skip('the openssl command (scripts/install-deps test installs it)')
        self.folder = folder / name
        self.folder.mkdir()
        self.above = above
        if above:
            self.own = above.issue(name, section='authority')
        else:
            self.own = self.request(name)
            openssl('x509', '-req', '-in', self.folder / f'{name}.csr', '-signkey', self.own.key,
                    '-days', '30', '-extfile', self.configuration(name), '-extensions',
                    'authority', '-out', self.own.pem)

    def configuration(self, name, listed=None):
        """`listed` are the bytes of a DNS name no configuration file could spell."""
        names = f'DNS:{name}'
        if listed is not None:
            entry = b'\x82' + bytes([len(listed)]) + listed
            names = 'DER:' + (b'\x30' + bytes([len(entry)]) + entry).hex(':')
        path = self.folder / f'{name}.cnf'
        path.write_text(CONFIGURATION.format(names=names))
        return path

    def request(self, name):
        pem, key = self.folder / f'{name}.pem', self.folder / f'{name}.key'
        openssl('req', '-new', '-config', self.configuration(name), '-newkey', 'ec', '-pkeyopt',
                'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-subj', f'/CN={name}',
                '-out', self.folder / f'{name}.csr')
        key.chmod(0o600)
        return Certificate(name, pem, key)

    def issue(self, name, days=30, section='end', listed=None):
        """A certificate for `name`, or for the name `listed` at most 100 bytes long; with days
        below 0 it expired so many days ago. Behind it stand the authorities between us and the
        root."""
        made = self.request(name)
        openssl('x509', '-req', '-in', self.folder / f'{name}.csr', '-CA', self.own.pem, '-CAkey',
                self.own.key, '-CAcreateserial', '-days', days, '-extfile',
                self.configuration(name, listed), '-extensions', section, '-out', made.pem)
        if self.above and section == 'end':
            made.pem.write_text(made.pem.read_text() + self.own.pem.read_text())
        return made


def openssl(*words):
    return subprocess.run(['openssl', *map(str, words)], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
