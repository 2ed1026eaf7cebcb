"""Gathers the training text: short English texts from freely licensed documentation and dictionaries.

Usage: corpus.py ROOT OUT.txt [--size N]

ROOT is a directory into which the Debian packages of packages.txt were unpacked (see README.md). Also read are the
documentation comments of the Go modules in GOMODCACHE. Each line of OUT.txt is one text: a sentence, a passage of a
few sentences, a heading, a question made from a heading or a headword, or a dictionary definition. The choice is
drawn by the hash of the text, so the same input gives the same output.
"""

import argparse
import gzip
import hashlib
import html
import html.parser
import os
import pathlib
import re
import subprocess

# The share of each source in the result. If a source has too few texts, the other sources fill its share.
SHARES = {
    "definition": 0.24,  # WordNet: "word: gloss"
    "example": 0.09,     # WordNet: usage sentences
    "gcide": 0.12,       # Webster 1913 as kept by GNU
    "glossary": 0.07,    # FOLDOC, Jargon File, Devil's Dictionary, elements
    "sentence": 0.25,    # documentation
    "passage": 0.10,
    "heading": 0.05,
    "question": 0.05,
    "go": 0.03,
}
PER_FILE = 60  # texts of one kind from one file, so that no manual dominates
FILES_PER_PACKAGE = 150
MAX_FILE = 1 << 19
FOREIGN = re.compile(r"/help/(?!C/)\w+/|/debian-handbook/html/(?!en-US)|/manual/\w+/.*html\.(?!en)|/man/[a-z]{2}(_|/)"
                     r"|[/.](de|fr|es|ja|zh|it|pt|pt-br|ru|ko|tr|da|zh-cn)([_/.]|$)|changelog|copyright")
ENGLISH = re.compile(r"\b(the|of|and|to|is|in|a|for|that|are|with|this|by|an)\b", re.I)


def rank(text):
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def tidy(text):
    return re.sub(r"\s+", " ", text).strip()


def is_prose(text, least=20, most=700):
    if not least <= len(text) <= most:
        return False
    letters = sum(c.isascii() and (c.isalpha() or c == " ") for c in text)
    return letters / len(text) > 0.85 and "  " not in text and not re.search(r"[{}<>\\|=]|--|\.\.\.|_\w+_", text)


def sentences(paragraph):
    return [s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z])", tidy(paragraph)) if is_prose(s, 25, 320) and s[0].isalpha()
            and ENGLISH.search(s)]


class Page(html.parser.HTMLParser):
    """Collects the headings and paragraphs of an HTML page."""

    SKIP = {"script", "style", "pre", "table", "nav", "head", "code-block"}

    def __init__(self):
        super().__init__()
        self.depth, self.kind, self.parts, self.blocks = 0, None, [], []

    def handle_starttag(self, tag, attrs):
        if tag in self.SKIP:
            self.depth += 1
        elif tag in ("p", "dd", "li") or re.fullmatch(r"h[1-6]", tag):
            self.flush()
            self.kind = "heading" if tag[0] == "h" else "paragraph"

    def handle_endtag(self, tag):
        if tag in self.SKIP:
            self.depth = max(0, self.depth - 1)
        elif tag in ("p", "dd", "li", "div") or re.fullmatch(r"h[1-6]", tag):
            self.flush()

    def handle_data(self, data):
        if self.depth == 0 and self.kind:
            self.parts.append(data)

    def flush(self):
        text = tidy("".join(self.parts)).rstrip("¶#")
        if text and self.kind:
            self.blocks.append((self.kind, text))
        self.kind, self.parts = None, []


def html_blocks(text):
    page = Page()
    page.feed(text)
    page.flush()
    return page.blocks


def xml_blocks(text):
    """Yields the titles and paragraphs of Mallard and DocBook sources."""
    for tag, body in re.findall(r"<(title|p|para)\b[^>]*>(.*?)</\1>", text, re.S):
        yield ("heading" if tag == "title" else "paragraph"), tidy(html.unescape(re.sub(r"<[^>]+>", "", body)))


def roff_blocks(text):
    """Yields the blocks of a manual page, approximately: macros end a paragraph, and font changes and escapes are removed."""
    lines = []
    for line in text.split("\n") + [".PP"]:
        line = re.sub(r"\\f(\(..|\[.*?\]|.)|\\s[+-]?\d|\\[&/,^|%]|\\\(..", "", line).replace("\\-", "-").replace("\\ ", " ")
        words = line.split(None, 1)
        if words and words[0] in (".B", ".I", ".BR", ".IR", ".RI", ".RB", ".BI", ".IB", ".Nm", ".Xr"):
            lines.append(words[1].replace('"', "") if len(words) > 1 else "")
        elif line[:1] in (".", "'"):
            yield "paragraph", tidy(" ".join(lines))
            lines = []
        else:
            lines.append(line)


def plain_blocks(text):
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip("\n").split("\n")
        if all(not re.match(r"\s{8}|[>$#*|+]", line) for line in lines):
            yield "paragraph", tidy(block.replace("``", "").replace("*", ""))


PARSERS = {".html": html_blocks, ".xhtml": html_blocks, ".htm": html_blocks, ".page": xml_blocks, ".docbook": xml_blocks,
           ".txt": plain_blocks, ".pod": plain_blocks, ".rst": plain_blocks}


def read(path):
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")


def pages(root):
    """Returns the pages to read: a few from each package, chosen by the hash of their path."""
    packages = {}
    for directory, _, names in os.walk(root):
        for name in names:
            path = pathlib.Path(directory, name)
            relative = path.relative_to(root)
            known = pathlib.Path(name.removesuffix(".gz")).suffix.lower() in PARSERS or "/man/man" in str(path)
            if known and not FOREIGN.search("/" + str(relative)):
                packages.setdefault(relative.parts[:4], []).append(path)
    for _, paths in sorted(packages.items()):
        paths.sort(key=lambda p: rank(str(p.relative_to(root))))
        for path in paths[:FILES_PER_PACKAGE]:
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_FILE:
                yield path


def documentation(root):
    """Yields (kind, text, file) from every page of documentation under root."""
    for path in pages(root):
        name = path.name.removesuffix(".gz")
        parser = roff_blocks if "/man/man" in str(path) else PARSERS[pathlib.Path(name).suffix.lower()]
        try:
            blocks = list(parser(read(path)))
        except (OSError, EOFError, ValueError, AssertionError):
            continue
        for kind, text in blocks:
            if kind == "heading":
                title = re.sub(r"^[\dA-Z]*[\d.]+\s*|^(Chapter|Section|Appendix)\s+\S+\s*", "", text)
                if is_prose(title, 8, 90) and " " in title:
                    yield "heading", title, path
                    yield from ((k, t, path) for k, t in questions(title))
                continue
            found = sentences(text)
            for s in found:
                yield "sentence", s, path
            for i in range(0, len(found) - 1, 4):
                passage = " ".join(found[i:i + 4])
                if is_prose(passage, 120):
                    yield "passage", passage, path


def questions(title):
    lower = title[0].lower() + title[1:]
    if re.match(r"\w+ing\b", title):
        yield "question", f"How does {lower} work?"
    elif re.match(r"How|What|Why|When|Where|Which|Who", title):
        yield "question", title.rstrip("?") + "?"
    elif 2 <= len(title.split()) <= 6:
        yield "question", f"What is said about {lower}?"


def wordnet(root):
    for path in sorted((root / "usr/share/wordnet").glob("data.*")):
        for line in path.read_text("utf-8", "replace").split("\n"):
            if "|" not in line or line.startswith("  "):
                continue
            fields, gloss = line.split("|", 1)
            fields = fields.split()
            words = [re.sub(r"\(.*\)", "", fields[4 + 2 * i]).replace("_", " ") for i in range(min(3, int(fields[3], 16)))]
            meanings = [tidy(g) for g in re.split(r';\s*(?=")', gloss)]
            yield "definition", f"{', '.join(words)}: {meanings[0]}", path
            if hash_share(words[0]) < 0.06:
                yield "question", f"What is {words[0]}?", path
            for example in meanings[1:]:
                example = example.strip('"; ')
                if is_prose(example, 15):
                    yield "example", example, path


def hash_share(text):
    return int.from_bytes(rank(text)) / 2**64


def dictionaries(root):
    """Reads .dict.dz files of the DICT protocol, in which entries start at the margin and their text is indented."""
    for path in sorted((root / "usr/share/dictd").glob("*.dict.dz")):
        kind = "gcide" if "gcide" in path.name else "glossary"
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        head, body = "", []
        for line in text.split("\n") + ["end"]:
            if line[:1].strip():
                entry = tidy(re.sub(r"\{|\}|\[[^\]]*\]|<[^>]*>|\\[^\\]*\\", "", " ".join(body)))
                name = tidy(re.sub(r"\\.*|\(.*|\[.*", "", head)).strip(", ")
                entry = re.sub(r"^(\d+\.|--|\([A-Z]\w+\.\)|\s)+", "", entry)
                if name and 20 < len(entry):
                    cut = re.match(r".{20,400}?[.;](?=\s|$)", entry)
                    if cut and is_prose(f"{name}: {cut.group()}", 20, 450):
                        yield kind, f"{name}: {cut.group()}", path
                    if not kind == "gcide":
                        yield from (("glossary", s, path) for s in sentences(entry)[1:4])
                head, body = line, []
            else:
                body.append(line)


def go_comments(module_cache):
    for path in sorted(pathlib.Path(module_cache).rglob("*.go")):
        if path.name.endswith("_test.go") or hash_share(path.name) > 0.2 or not path.is_file() or path.stat().st_size > 1 << 20:
            continue
        for block in re.findall(r"((?:^//[ \t][^\n]*\n)+)(?=func|type|package|const|var)", read(path), re.M):
            for s in sentences(block.replace("//", "")):
                yield "go", s, path


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("root", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--size", type=int, default=100_000)
    options = arguments.parse_args()
    cache = os.environ.get("GOMODCACHE") or subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip()
    found, seen, per_file = {kind: [] for kind in SHARES}, set(), {}
    for source in (wordnet(options.root), dictionaries(options.root), documentation(options.root), go_comments(cache)):
        for kind, text, path in source:
            key = re.sub(r"\W+", " ", text.lower()).strip()
            if len(key) < 8 or key in seen or not text.isprintable():
                continue
            count = per_file.get((kind, path), 0)
            if count >= PER_FILE and path.suffix != ".dz" and "wordnet" not in str(path):
                continue
            per_file[kind, path] = count + 1
            seen.add(key)
            found[kind].append(text)
    chosen, spare = [], []
    for kind, texts in found.items():
        texts.sort(key=rank)
        share = int(SHARES[kind] * options.size)
        chosen += texts[:share]
        spare += texts[share:]
        print(f"{kind}: {len(texts)} found, {min(share, len(texts))} taken")
    spare.sort(key=rank)
    chosen += spare[:options.size - len(chosen)]
    chosen.sort(key=rank)
    options.out.write_text("\n".join(chosen) + "\n")
    print(f"{len(chosen)} texts, {sum(len(t.split()) for t in chosen) / len(chosen):.1f} words each")


if __name__ == "__main__":
    main()
