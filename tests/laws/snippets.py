# SPDX-License-Identifier: Apache-2.0
"""Compiles the README's examples, C++ and C, as a user would: with the public headers alone.
usage: snippets.py SOURCE_ROOT COMPILER_FOR_C++ COMPILER_FOR_C"""

import re
import subprocess
import sys
from pathlib import Path

import tree

README = 'README.md'
BLOCK = re.compile(r'^```(?P<language>cpp|c)\n(?P<code>.*?)^```$', re.DOTALL | re.MULTILINE)
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fsyntax-only']

# What an example takes for granted: the reader's own names, and those of the examples before it.
CPP = '''
#include <cstdint>
#include <vector>
#include <longhaul/longhaul.hpp>
{hoisted}
using namespace longhaul;
int report(const auto& why);
void use(std::uint64_t cookie, Status status);
int example([[maybe_unused]] Result<Endpoint>& endpoint,
            [[maybe_unused]] std::vector<std::uint16_t>& weights);
int example([[maybe_unused]] Result<Endpoint>& endpoint,
            [[maybe_unused]] std::vector<std::uint16_t>& weights) {{
{{
{code}
}}
return 0;
}}
'''
C = '''
#include <stdio.h>
#include <longhaul/longhaul.h>
{hoisted}
void example(longhaul_connection* peer, longhaul_const_tensor tensor,
             longhaul_transfer* transfer, longhaul_status status);
void example(longhaul_connection* peer, longhaul_const_tensor tensor,
             longhaul_transfer* transfer, longhaul_status status) {{
{code}
}}
'''
LANGUAGES = {'cpp': (CPP, ['-x', 'c++', '-std=c++20']), 'c': (C, ['-x', 'c', '-std=c99'])}


def unit_of(block):
    """The translation unit around an example, with its lines under their numbers in the README."""
    lines = block['code'].splitlines()
    outside = [line for line in lines if line.startswith(('#include', 'using namespace'))]
    inside = ['' if line in outside else line for line in lines]
    first = block.string.count('\n', 0, block.start('code')) + 1
    code = f'#line {first} "{README}"\n' + '\n'.join(inside)
    return LANGUAGES[block['language']][0].format(hoisted='\n'.join(outside), code=code), first


def check(root, compilers):
    """Findings, and how many examples were looked at."""
    found, blocks = [], list(BLOCK.finditer((root / README).read_text()))
    for block in blocks:
        unit, first = unit_of(block)
        command = [compilers[block['language']], *LANGUAGES[block['language']][1], *WARNINGS,
                   '-I', str(root / 'include'), '-']
        done = subprocess.run(command, input=unit, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            found.append(tree.Finding(README, first, f'the example does not compile\n{done.stdout}',
                                      'show what a reader can paste'))
    if {block['language'] for block in blocks} != set(LANGUAGES):
        found.append(tree.Finding(README, 1, 'no example in C++, or none in C', 'show one of each'))
    return found, len(blocks)


if __name__ == '__main__':
    tree.report('examples in the README',
                *check(Path(sys.argv[1]), {'cpp': sys.argv[2], 'c': sys.argv[3]}))
