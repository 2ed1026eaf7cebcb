"""peers.py TOOL LIST: reads the files that LIST names, one on each line, with one library, in one process.

Prints a JSON object: wall and cpu seconds of reading without the start of Python, and the files that were read. A file
that takes more than a minute counts as not read."""
import json, signal, sys, time


def reader(tool):
    if tool == "pymupdf":
        import pymupdf
        return lambda path: "\n".join(page.get_text() for page in pymupdf.open(path))
    if tool == "pypdf":
        import pypdf
        return lambda path: "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    if tool == "pdfminer.six":
        from pdfminer.high_level import extract_text
        return extract_text
    if tool == "markitdown":
        from markitdown import MarkItDown
        tool = MarkItDown()
        return lambda path: tool.convert(path).text_content
    sys.exit(f"peers.py: no tool {tool}")


def late(*_):
    raise TimeoutError("more than a minute")


def main():
    read = reader(sys.argv[1])
    files = open(sys.argv[2], encoding="utf8").read().splitlines()
    signal.signal(signal.SIGALRM, late)
    done = []
    wall, cpu = time.monotonic(), time.process_time()
    for path in files:
        signal.alarm(60)
        try:
            read(path)
            done.append(path)
        except Exception:
            pass
        finally:
            signal.alarm(0)
    print(json.dumps({"wall": time.monotonic() - wall, "cpu": time.process_time() - cpu, "read": done}))


import logging, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
main()
