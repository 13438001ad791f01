# SPDX-License-Identifier: Apache-2.0
"""What `meson install` puts where, and that a C and a C++ program built against it, shared and
static, exchange a tensor. usage: install_test.py SOURCE_ROOT BUILD_ROOT"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatch
from pathlib import Path

import exchange

SOURCE, BUILD = Path(), Path()


def option(name):
    options = json.loads(exchange.run(['meson', 'introspect', '--buildoptions', BUILD]))
    return next(entry['value'] for entry in options if entry['name'] == name)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='longhaul-install-')
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name) / 'root'
        cls.scratch = Path(folder.name)
        exchange.run(['meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', cls.root])
        cls.prefix = cls.root / option('prefix').lstrip('/')
        cls.libraries = cls.prefix / option('libdir')
        cls.env = exchange.environment(
            PKG_CONFIG_PATH=str(cls.libraries / 'pkgconfig'), PKG_CONFIG_SYSROOT_DIR=str(cls.root),
            LD_LIBRARY_PATH=str(cls.libraries))

    def test_every_public_header_and_no_other(self):
        public = {path.name for path in (SOURCE / 'include/longhaul').iterdir()}
        include = self.prefix / 'include'
        self.assertEqual(public, {path.name for path in (include / 'longhaul').iterdir()})
        self.assertEqual(['longhaul'], [path.name for path in include.iterdir()])

    def test_headers_reach_for_nothing_outside(self):
        for path in (self.prefix / 'include/longhaul').iterdir():
            for line in path.read_text().splitlines():
                if line.startswith('#include "'):
                    self.assertTrue(line.startswith('#include "longhaul/'), f'{path.name}: {line}')

    def test_libraries_and_programs(self):
        names = {path.name for path in self.libraries.iterdir()}
        version = exchange.run(['pkg-config', '--modversion', 'longhaul'], self.env).strip()
        self.assertEqual({'liblonghaul.so', 'liblonghaul.so.0', f'liblonghaul.so.{version}',
                          'liblonghaul.a', 'pkgconfig'}, names)
        self.assertIn('[liblonghaul.so.0]',
                      exchange.run(['readelf', '-d', self.libraries / 'liblonghaul.so']))
        self.assertIn(version, exchange.run([self.prefix / 'bin/longhaul-perf', '--version'],
                                            self.env))

    def test_the_debian_packages_have_all_of_it_and_the_version(self):
        debian = SOURCE / 'packaging/debian'
        version = exchange.run(['pkg-config', '--modversion', 'longhaul'], self.env).strip()
        self.assertTrue((debian / 'changelog').read_text().startswith(f'longhaul ({version}) '))
        patterns = [line for path in debian.glob('*.install')
                    for line in path.read_text().splitlines()]
        for path in self.prefix.rglob('*'):
            if path.is_dir():
                continue
            # Where Debian puts it; its library folder has one more level than some prefixes.
            name = Path('usr') / path.relative_to(self.prefix)
            if path.is_relative_to(self.libraries):
                name = Path('usr/lib/any') / path.relative_to(self.libraries)
            self.assertTrue(any(fnmatch(str(place), pattern) for pattern in patterns
                                for place in (name, *name.parents)),
                            f'{name} is in no package: packaging/debian/*.install')

    def exchange(self, name, env, static):
        folder = self.scratch / name
        folder.mkdir()
        programs = exchange.build(folder, env, static)
        for program in programs:
            self.assertEqual(not static, exchange.needs_our_library(program))
        exchange.exchange(*programs, folder, env)

    def test_programs_with_the_shared_library(self):
        self.exchange('shared', self.env, static=False)

    def test_programs_with_the_static_library(self):
        # The linker takes the archive only where there is no shared library beside it.
        alone = self.scratch / 'alone'
        shutil.copytree(self.root, alone, symlinks=True)
        libraries = alone / self.libraries.relative_to(self.root)
        for path in libraries.glob('liblonghaul.so*'):
            path.unlink()
        self.exchange('static', exchange.environment(
            PKG_CONFIG_PATH=str(libraries / 'pkgconfig'), PKG_CONFIG_SYSROOT_DIR=str(alone)),
            static=True)


if __name__ == '__main__':
    missing = [tool for tool in ('gcc', 'g++', 'pkg-config', 'readelf', 'meson')
               if shutil.which(tool) is None]
    if missing:
        print(f'SKIP: no {", ".join(missing)} (scripts/install-deps test installs them)')
        sys.exit(77)
    SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    try:
        unittest.main(argv=sys.argv[:1])
    except subprocess.TimeoutExpired as late:
        sys.exit(f'{late.cmd} did not end')
