# SPDX-License-Identifier: Apache-2.0
"""Reads C headers of ours, and finds what a newer one took away from an older one."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

FLAGS = ['-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror']
ENUMERATOR = re.compile(r'\b(LONGHAUL_\w+) = (-?\d+)')
STRUCT = re.compile(r'typedef struct (\w+) \{(.*?)\} \1;', re.S)
MEMBER = re.compile(r'\b(\w+)(?:\[\d+\])?;')
FUNCTION = re.compile(r'^[a-z_][\w ]*?[ *]+(longhaul_\w+)\([^;{}]*\);', re.M | re.S)
CPP_CLASS = re.compile(r'class LONGHAUL_API (\w+) \{(.*?)^ private:', re.S | re.M)
CPP_METHOD = re.compile(r'^  (?:static )?[\w:<>&,\*]+(?: [\w:<>&\*]+)* (\w+)\(', re.M)
CPP_STRUCT = re.compile(r'^( *)struct (?:LONGHAUL_API )?(\w+) \{\n(.*?)^\1\}', re.S | re.M)
CPP_FIELD = (r'^{0}  (?!static|friend|struct|using|return)(?:[\w:]+(?:<[^;]*>)?[ *]+)+(\w+)'
             r'(?:\{{.*\}}| = .*)?;')
# Structs of C++ -> of C, and the fields that C says in another way.
STRUCTS = {'EndpointConfig': 'longhaul_endpoint_config', 'InjectedFaults': 'longhaul_faults',
           'ConnectOptions': 'longhaul_connect_options', 'SendOptions': 'longhaul_send_options',
           'ReceiveOptions': 'longhaul_receive_options', 'Completion': 'longhaul_completion',
           'Progress': 'longhaul_progress', 'ConstTensorView': 'longhaul_const_tensor',
           'TensorView': 'longhaul_tensor', 'SocketAddress': 'longhaul_address',
           'ConnectionStats': 'longhaul_connection_stats',
           'EndpointStats': 'longhaul_endpoint_stats'}
OTHERWISE = {'shape': 'extents', 'range': 'range_begin', 'codepoints': 'dscp'}
CPP_SYMBOL = re.compile(r'(?:(?:typeinfo|typeinfo name|vtable) for )?longhaul::')


@dataclass
class Interface:
    """What a folder with longhaul/*.h declares."""
    folder: Path
    enumerators: dict
    structs: dict
    functions: dict

    @classmethod
    def read(cls, folder):
        text = ''.join(path.read_text() for path in sorted((folder / 'longhaul').glob('*.h')))
        text = re.sub(r'//[^\n]*', '', text)
        return cls(folder, dict(ENUMERATOR.findall(text)),
                   {name: MEMBER.findall(body) for name, body in STRUCT.findall(text)},
                   {match.group(1): match.group(0) for match in FUNCTION.finditer(text)})


def compile_c(text, folder, scratch, arguments):
    """The compiler's complaints about `text` with the headers of `folder`; '' if there are none."""
    unit = scratch / 'unit.c'
    unit.write_text(text)
    result = subprocess.run(['gcc', *FLAGS, '-I', str(folder), str(unit), *arguments], text=True,
                            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.stdout if result.returncode else ''


def numbers(interface, folder, scratch):
    """Values of the enumerators and places of the members that `interface` names, as the compiler
    sees them in the headers of `folder`; or its complaints."""
    lines = [f'  printf("%s %d\\n", "{name}", {name});' for name in interface.enumerators]
    for struct, members in interface.structs.items():
        lines += [f'  printf("%s at %d, %d bytes\\n", "{struct}.{member}", '
                  f'(int)offsetof({struct}, {member}), (int)sizeof((({struct}*)0)->{member}));'
                  for member in members]
    text = ('#include <longhaul/longhaul.h>\n#include <stdio.h>\nint main(void) {\n' +
            '\n'.join(lines) + '\n  return 0;\n}\n')
    program = scratch / 'numbers'
    complaints = compile_c(text, folder, scratch, ['-o', str(program)])
    if complaints:
        return None, complaints
    return subprocess.run([str(program)], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.splitlines(), ''


def changed(then, now, scratch):
    """What is in `then` and not, or not the same, in `now`."""
    findings = [f'LONGHAUL number gone: {name}' for name in then.enumerators
                if name not in now.enumerators]
    findings += [f'function gone: {name}' for name in then.functions if name not in now.functions]
    for name, members in then.structs.items():
        gone = [member for member in members if member not in now.structs.get(name, [])]
        findings += [f'member gone: {name}.{member}' for member in gone]
    if findings:
        return findings
    before, complaints = numbers(then, then.folder, scratch)
    after, more = numbers(then, now.folder, scratch)
    if complaints or more:
        return [complaints + more]
    findings = [f'was "{old}", is "{new}"' for old, new in zip(before, after)
                if old != new and not old.startswith('LONGHAUL_ABI_VERSION ')]
    # C lets a function be declared again only with the same types.
    again = '\n'.join(then.functions.values())
    complaints = compile_c(f'#include <longhaul/longhaul.h>\n{again}\n', now.folder, scratch,
                           ['-fsyntax-only'])
    return findings + ([f'a signature changed:\n{complaints}'] if complaints else [])


def exported(library):
    """(name, version) of C symbols, and the C++ names, that a shared object shows."""
    listed = subprocess.run(['nm', '-D', '--defined-only', str(library)], text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    names = [line.split()[-1] for line in listed.splitlines()]
    c_names = [tuple(name.split('@@')) for name in names if name.startswith('longhaul_')]
    mangled = [name.split('@')[0] for name in names if name.startswith('_Z')]
    rest = [name for name in names
            if not name.startswith(('longhaul_', '_Z', 'LONGHAUL_'))]
    cpp = subprocess.run(['c++filt'], input='\n'.join(mangled), text=True, check=True,
                         stdout=subprocess.PIPE).stdout.splitlines()
    return c_names, cpp, rest


def shown(interface, library):
    """What the library shows and the header does not declare, and the reverse."""
    c_names, cpp, rest = exported(library)
    names = {name for name, *_ in c_names}
    findings = [f'declared but not exported: {name}' for name in interface.functions
                if name not in names]
    findings += [f'exported but not declared: {name}' for name in names
                 if name not in interface.functions]
    findings += [f'without the version LONGHAUL_0: {name}' for name, *version in c_names
                 if version != ['LONGHAUL_0']]
    findings += [f'exported but not ours: {name}' for name in cpp if not CPP_SYMBOL.match(name)]
    findings += [f'inner part exported: {name}' for name in cpp if name.startswith('longhaul::api')]
    return findings + [f'exported but not ours: {name}' for name in rest]


def missing_in_c(interface, include):
    """Methods of the C++ handles that C has no function for."""
    others = {'open': 'longhaul_endpoint_open', 'valid': None}
    findings, seen = [], 0
    for header in ('endpoint.hpp', 'connection.hpp', 'transfer.hpp'):
        for name, body in CPP_CLASS.findall((include / 'longhaul' / header).read_text()):
            for method in set(CPP_METHOD.findall(body)) - {'operator'}:
                if method == name:
                    continue
                seen += 1
                wanted = others.get(method, f'longhaul_{name.lower()}_{method}')
                if wanted and not {wanted, wanted + '_get'} & interface.functions.keys():
                    findings.append(f'{name}::{method} has no {wanted}')
    return findings if seen > 25 else [f'only {seen} methods of C++ were found']


def cpp_structs(text):
    """(name, fields) of every struct, those inside others too."""
    for indent, name, body in CPP_STRUCT.findall(text):
        yield name, re.findall(CPP_FIELD.format(indent), body, re.M)
        yield from cpp_structs(body)


def missing_fields(interface, include):
    """Fields of C++ structs that their C twins have no member for."""
    findings, seen = [], set()
    for path in sorted((include / 'longhaul').glob('*.hpp')):
        for name, fields in cpp_structs(re.sub(r'//[^\n]*', '', path.read_text())):
            if name not in STRUCTS:
                continue
            seen.add(name)
            members = set(interface.structs.get(STRUCTS[name], []))
            findings += [f'{name}::{field} has no member in {STRUCTS[name]}' for field in fields
                         if not {OTHERWISE.get(field, field), f'{field}_ns'} & members]
    return findings + [f'not found in the C++ headers: {name}' for name in STRUCTS
                       if name not in seen]
