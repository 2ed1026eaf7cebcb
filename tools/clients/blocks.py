"""Writes the blocks of a language under a heading of docs/clients.md into files: blocks.py HEADING LANGUAGE DIRECTORY"""

import pathlib
import re
import sys

heading, language, directory = sys.argv[1:]
page = pathlib.Path("docs/clients.md").read_text()
section = re.search(rf"\n### {re.escape(heading)}\n(.*?)(?=\n##)", page, re.S).group(1)
blocks = re.findall(rf"\n```{language}\n(.*?\n)```\n", section, re.S)
assert blocks, f"there is no {language} under {heading}"
for n, block in enumerate(blocks):
    path = pathlib.Path(directory, f"block{n}.{'mjs' if language == 'js' else 'py'}")
    path.write_text(block)
    print(path)
