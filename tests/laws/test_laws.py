# SPDX-License-Identifier: Apache-2.0
"""The laws catch what they are for: each is shown a made-up tree that breaks it.
usage: test_laws.py C++-COMPILER…"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import headers
import layers
import size
import snippets
import symbols
from functions import functions

COMPILER = ['c++']
LICENCE = '// SPDX-License-Identifier: Apache-2.0\n'


class MadeUpTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longhaul-laws-')
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(LICENCE + text)

    def assert_breach(self, findings, path, words):
        self.assertEqual(1, len(findings), '\n'.join(map(str, findings)))
        self.assertIn(path, findings[0].path)
        self.assertIn(words, f'{findings[0].rule} {findings[0].remedy}')


class LayerLaw(MadeUpTree):
    def breach(self, path, include, words):
        self.write(path, f'#include {include}\n')
        findings, _ = layers.check(self.root)
        self.assert_breach(findings, path, words)
        self.assertEqual(2, findings[0].line)

    def test_core_including_io_is_caught(self):
        self.breach('lib/path/path.cpp', '"lib/io/backend.hpp"', 'sans-IO')

    def test_io_including_core_is_caught(self):
        self.breach('lib/io/kernel/socket.cpp', '"lib/wire/packet.hpp"', 'never sees the protocol')

    def test_an_arrow_pointing_up_is_caught(self):
        self.breach('lib/wire/frame.cpp', '"lib/transfer/sender.hpp"', 'lib/wire includes')

    def test_a_policy_including_the_core_is_caught(self):
        self.breach('congestion/cubic.cpp', '"lib/path/path.hpp"', 'policy')

    def test_a_policy_including_another_policy_is_caught(self):
        self.breach('congestion/cubic.cpp', '"fec/scheme.hpp"', 'policy')

    def test_a_policy_including_a_public_face_is_caught(self):
        self.breach('fec/scheme.cpp', '"longhaul/connection.hpp"', 'policy')

    def test_an_app_including_the_inside_is_caught(self):
        self.breach('apps/perf/main.cpp', '"lib/netmodel/link.hpp"', 'include/longhaul only')

    def test_a_public_header_including_the_inside_is_caught(self):
        self.breach('include/longhaul/x.hpp', '"lib/base/assert.hpp"', 'include/longhaul includes')

    def test_the_connection_header_is_for_its_three_folders(self):
        self.breach('lib/api/endpoint.cpp', '"lib/connection/connection.hpp"', 'outside')

    def test_a_thread_in_the_core_is_caught(self):
        self.breach('lib/recovery/ack.cpp', '<mutex>', 'no clock, socket or thread')

    def test_a_socket_in_the_core_is_caught(self):
        self.breach('lib/endpoint/endpoint.cpp', '<sys/socket.h>', 'no clock, socket or thread')

    def test_numbers_one_can_guess_in_the_core_are_caught(self):
        self.breach('lib/path/validator.cpp', '"lib/base/random.hpp"', 'SecretRandom')

    def test_dpdk_outside_its_folder_is_caught(self):
        self.breach('lib/runtime/worker.cpp', '<rte_mbuf.h>', 'lib/io/dpdk')

    def test_liburing_outside_its_folder_is_caught(self):
        self.breach('lib/runtime/worker.cpp', '<liburing.h>', 'lib/io/kernel')

    def test_a_folder_without_a_row_is_caught(self):
        self.write('lib/novelty/x.cpp', '#include <vector>\n')
        findings, _ = layers.check(self.root)
        self.assert_breach(findings, 'lib/novelty/x.cpp', 'no row in the layer table')

    def test_a_relative_include_is_caught(self):
        self.breach('lib/path/path.cpp', '"../wire/packet.hpp"', 'from the project root')

    def test_arrows_pointing_down_are_fine(self):
        self.write('lib/path/path.cpp', '#include <vector>\n#include "lib/wire/packet.hpp"\n'
                   '#include "longhaul/time.hpp"\n#include "congestion/factory.hpp"\n')
        self.write('apps/wan/main.cpp', '#include "lib/netmodel/link.hpp"\n')
        self.write('apps/perf/main.cpp',
                   '#include "longhaul/longhaul.hpp"\n#include <CLI/CLI.hpp>\n')
        self.write('lib/runtime/worker.cpp', '#include <thread>\n#include "lib/io/backend.hpp"\n'
                   '#include "lib/connection/connection.hpp"\n')
        self.assertEqual(([], 4), layers.check(self.root))


class SymbolLaw(MadeUpTree):
    def archive(self, folder, name, code):
        self.write(f'{folder}/x.cpp', code)
        build = self.root / 'out'
        (build / folder).mkdir(parents=True, exist_ok=True)
        unit = build / f'{name}.o'
        subprocess.run([*COMPILER, '-std=c++20', '-O2', '-c', self.root / folder / 'x.cpp',
                        '-o', unit], check=True)
        archive = build / folder / f'liblonghaul_{name}.a'
        subprocess.run(['ar', 'cr', archive, unit], check=True)
        return symbols.check(self.root, build)

    def breach(self, code, words):
        findings, examined = self.archive('lib/path', 'path', code)
        self.assertEqual(1, examined)
        self.assertIn(words, '\n'.join(map(str, findings)))

    def test_clock_gettime_is_caught(self):
        self.breach('#include <time.h>\nlong f(timespec* t) { clock_gettime(CLOCK_MONOTONIC, t); '
                    'return t->tv_sec; }\n', 'imports a clock: clock_gettime')

    def test_a_chrono_clock_is_caught(self):
        self.breach('#include <chrono>\nlong f() { return std::chrono::steady_clock::now()'
                    '.time_since_epoch().count(); }\n', 'imports a clock: std::chrono')

    def test_a_socket_is_caught(self):
        self.breach('#include <sys/socket.h>\nint f() { return socket(AF_INET, SOCK_DGRAM, 0); }\n',
                    'imports a socket: socket')

    def test_a_mutex_is_caught(self):
        self.breach('#include <mutex>\nvoid f(std::mutex& m) { m.lock(); }\n', 'imports a thread')

    def test_a_thread_is_caught(self):
        self.breach('#include <thread>\nvoid g();\nvoid f() { std::thread(g).detach(); }\n',
                    'imports a thread: std::thread')

    def test_randomness_is_caught(self):
        self.breach('#include <random>\nunsigned f() { return std::random_device{}(); }\n',
                    'imports randomness')

    def test_dpdk_is_caught(self):
        self.breach('extern "C" int rte_eal_init(int, char**);\n'
                    'int f() { return rte_eal_init(0, nullptr); }\n', 'imports DPDK: rte_eal_init')

    def test_io_uring_is_caught(self):
        self.breach('extern "C" int io_uring_submit(void*);\n'
                    'int f() { return io_uring_submit(nullptr); }\n', 'imports io_uring')

    def test_own_methods_with_the_names_of_calls_are_fine(self):
        findings, examined = self.archive('lib/path', 'path', '''
#include <vector>
namespace longhaul { struct P { int send(int); int connect(); int time(); void close(); }; }
int f(longhaul::P& p, std::vector<int>& v) {
  v.push_back(p.send(1)); p.close(); return p.connect() + p.time();
}
''')
        self.assertEqual(([], 1), (findings, examined))

    def test_an_archive_that_was_not_built_is_caught(self):
        self.write('lib/wire/x.cpp', 'int x;\n')
        findings, _ = symbols.check(self.root, self.root / 'out')
        self.assert_breach(findings, 'lib/wire', 'was not built')


class SizeLaw(MadeUpTree):
    def breach(self, path, text, words):
        self.write(path, text)
        findings, examined = size.check(self.root)
        self.assertEqual(1, examined)
        self.assert_breach(findings, path, words)

    def test_a_long_file_is_caught(self):
        self.breach('tests/x.cpp', 'int x;\n' * 500, '501 lines')

    def test_a_long_function_is_caught(self):
        self.breach('tests/x.cpp', 'void f(int a,\n       int b) {\n' + '  g();\n' * 68 + '}\n',
                    'f has 71 lines')

    def test_a_long_line_is_caught(self):
        self.breach('tests/x.cpp', '//' + 'x' * 99 + '\n', '101 columns')

    def test_a_note_about_undone_work_is_caught(self):
        self.breach('tests/x.cpp', '// TO' 'DO: later\n', 'undone')

    def test_conditional_compilation_in_shared_code_is_caught(self):
        self.breach('include/longhaul/x.hpp', '#pragma once\n#ifdef __linux__\n#endif\n',
                    'conditional compilation')

    def test_a_missing_licence_is_caught(self):
        (self.root / 'tests').mkdir()
        (self.root / 'tests/x.cpp').write_text('int x;\n')
        findings, _ = size.check(self.root)
        self.assert_breach(findings, 'tests/x.cpp', 'no licence')

    def test_a_header_without_pragma_once_is_caught(self):
        self.breach('tests/x.hpp', 'int x();\n', 'pragma once')

    def test_a_module_without_a_readme_is_caught(self):
        self.write('lib/wire/x.cpp', 'int x;\n')
        findings, _ = size.check(self.root)
        self.assert_breach(findings, 'lib/wire', 'without README')

    def test_what_is_allowed_passes(self):
        self.write('lib/io/x.cpp', '#ifdef __linux__\n#endif\n' + 'int x;\n' * 400)
        self.write('lib/io/README.md', '')
        self.write('include/longhaul/c.h', '#ifdef __cplusplus\nextern "C" {\n#endif\n')
        self.write('tests/x.cpp', 'void f() {\n' + '  g();\n' * 68 + '}\n')
        self.assertEqual(([], 3), size.check(self.root))


class Functions(unittest.TestCase):
    def found(self, text):
        return list(functions(text))

    def test_methods_constructors_operators_and_lambdas_are_functions(self):
        text = '''namespace a {
struct S final : B<int> {
  S(int x) : x_{x}, y_(x) {
    f("{");
  }
  bool operator==(const S&) const = default;
  int g() const noexcept { return '{'; }
};
template <typename T = int, int N = 3>
T h(T t) {
  if (t) {
    return t;
  }  // }
  return {};
}
constexpr int kTable[] = {f(1), f(2)};
const auto k = [](int x) {
  return x;
};
enum class E { a, b };
}
'''
        found = [(name if name in 'Sgh' else '', *rest) for name, *rest in self.found(text)]
        self.assertEqual([('S', 3, 3), ('g', 7, 1), ('h', 9, 7), ('', 17, 3)], found)

    def test_a_test_case_is_a_function(self):
        self.assertEqual([('TEST', 1, 3)], self.found('TEST(Suite, name) {\n  x();\n}\n'))

    def test_a_table_may_be_long(self):
        rows = '      {1, [](int x) { return x; }},\n' * 99
        table = 'std::vector<Row> f() {\n  return {\n' + rows + '  };\n}\n'
        self.assertEqual([('f', 1, 1)], self.found(table))
        code = table.replace('  return {\n', '  g();\n  return {\n')
        self.assertEqual([('f', 1, 104)], self.found(code))

    def test_raw_strings_and_digit_separators_do_not_confuse(self):
        text = 'int f() {\n  g(R"({{)", 1\'000);\n}\n'
        self.assertEqual([('f', 1, 3)], self.found(text))


class HeaderLaw(MadeUpTree):
    def test_a_header_that_leans_on_others_is_caught(self):
        self.write('include/longhaul/x.hpp', '#pragma once\nstd::uint8_t f();\n')
        finding = headers.compile_alone(self.root, self.root, self.root / 'include/longhaul/x.hpp',
                                        'public', COMPILER)
        self.assertIn('include what it uses', str(finding))

    def test_a_header_that_brings_what_it_needs_passes(self):
        self.write('include/longhaul/x.hpp',
                   '#pragma once\n#include <cstdint>\nstd::uint8_t f();\n')
        self.assertIsNone(headers.compile_alone(
            self.root, self.root, self.root / 'include/longhaul/x.hpp', 'public', COMPILER))


class SnippetLaw(MadeUpTree):
    GOOD = {'cpp': '#include <vector>\nstd::vector<int> v;\nif (v.empty()) return report(v);\n',
            'c': 'puts(status ? "a" : "b");\n(void)peer, (void)tensor, (void)transfer;\n'}

    def findings(self, **blocks):
        self.write('include/longhaul/longhaul.hpp', 'namespace longhaul {\nstruct Endpoint;\n'
                   'template <typename T> struct Result {};\nenum class Status {};\n}\n')
        self.write('include/longhaul/longhaul.h',
                   'typedef struct longhaul_connection longhaul_connection;\n'
                   'typedef int longhaul_const_tensor, longhaul_transfer, longhaul_status;\n')
        self.write('README.md', '# A\n' + ''.join(f'```{language}\n{code}```\n' for language, code
                                                 in {**self.GOOD, **blocks}.items() if code))
        return snippets.check(self.root, {'cpp': COMPILER[0], 'c': 'cc'})[0]

    def test_examples_that_compile_pass(self):
        self.assertEqual([], self.findings())

    def test_examples_that_do_not_are_caught_at_their_line(self):
        for language, code in (('cpp', 'int x = y;\n'), ('c', 'int x = y;\n')):
            found = self.findings(**{language: code})
            self.assertEqual(1, len(found), found)
            self.assertIn('does not compile', str(found[0]))
        self.assertIn('README.md:4', str(self.findings(cpp='int x = y;\n')[0]))

    def test_a_readme_without_an_example_is_caught(self):
        self.assertIn('no example', str(self.findings(c='')[0]))


if __name__ == '__main__':
    COMPILER = [word for word in sys.argv[1:] if word != 'ccache'] or COMPILER
    unittest.main(argv=sys.argv[:1])
