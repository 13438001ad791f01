# SPDX-License-Identifier: Apache-2.0
"""Finds the functions of a C++ file and their lengths, well enough for a law on length.

Comments, literals and preprocessor lines are blanked first. Then braces are matched; a brace opens
a function when it stands outside any function and its head (the text since the last `;`, `{` or
`}`) has a parameter list and is not a type, a namespace or an initialiser."""

import re

BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/'                      # comments
    r'|R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"'     # raw strings
    r'|"(?:\\.|[^"\\\n])*"'                    # strings
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"    # characters, but not digit separators
    r'|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*', re.DOTALL | re.MULTILINE)
TYPE_OR_SCOPE = re.compile(r'\b(namespace|class|struct|union|enum|extern|concept)\b')
TEMPLATE_ARGUMENTS = re.compile(r'(?<!operator)<[^<>]*>')
NAME = re.compile(r'([~\w:]+|operator\s*[^\s(]+)\s*\(')
ATTRIBUTE = re.compile(r'\[\[.*?\]\]|\b(alignas|noexcept|decltype|requires)\s*\([^()]*\)')


def blank(text):
    """Comments, literals and preprocessor lines replaced by spaces; line breaks stay."""
    return BLANKED.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)


def opens_function(head):
    bare = ATTRIBUTE.sub(' ', head)
    while TEMPLATE_ARGUMENTS.search(bare):
        bare = TEMPLATE_ARGUMENTS.sub(' ', bare)
    if '(' not in bare:
        return False
    before = bare.split('(', 1)[0]
    if TYPE_OR_SCOPE.search(before) and not re.search(r'\b\w+[\s*&]+[\w:~]+\s*$', before):
        return False
    # `x = f(…) {`: an initialiser, unless it is a lambda or an operator with = in its name.
    return '=' not in before or 'operator' in before or '[' in before


def is_table(body):
    """A body that only returns a braced list: data, which may be as long as it needs to be."""
    return re.match(r'\s*return\s*[\w:<>, ]*\{', body) is not None and statements(body) == 1


def statements(body):
    """How many `;` stand outside inner braces and parentheses."""
    depth, count = 0, 0
    for char in body:
        depth += (char in '{(') - (char in '})')
        count += char == ';' and depth == 0
    return count


def functions(text):
    """Yields (name, first line, number of lines) of each function, from its head to its brace;
    a table counts as one line."""
    text = blank(text)
    outer = []             # what each open brace outside functions is
    head_start = 0
    pending = None         # where a function began whose member initialisers use braces
    inside, start, name, body_start = 0, 0, '', 0
    for position, char in enumerate(text):
        if inside:
            inside += (char == '{') - (char == '}')
            if inside == 0:
                last = text.count('\n', 0, position) + 1
                table = is_table(text[body_start:position])
                yield name, start, 1 if table else last - start + 1
                head_start = position + 1
            continue
        if char == '{':
            head = text[head_start:position]
            if opens_function(head):
                closing = text[position:]
                continues = re.match(r'\{[^{};]*\}\s*[,{]', closing)
                if pending is None:
                    lead = len(head) - len(head.lstrip())
                    pending = text.count('\n', 0, head_start + lead) + 1
                    match = NAME.search(head)
                    name = match.group(1) if match else '(unnamed)'
                if continues and re.search(r'[\w>]\s*$', head) and ':' in head:
                    outer.append('initialiser')
                    continue
                inside, start, pending, body_start = 1, pending, None, position + 1
            else:
                outer.append('scope')
                head_start = position + 1
        elif char == '}':
            kind = outer.pop() if outer else 'scope'
            if kind != 'initialiser':
                head_start, pending = position + 1, None
        elif char == ';':
            head_start, pending = position + 1, None
