"""peers.py TOOL LIST: reads the files that LIST names, one on each line, with one library, in one process.

Prints a JSON array of the files that were read, each with the wall and cpu seconds it took, without the start of
Python. A file that takes more than a minute counts as not read."""
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
    for path in files:
        wall, cpu = time.monotonic(), time.process_time()
        signal.alarm(60)
        try:
            read(path)
            done.append({"file": path, "wall": time.monotonic() - wall, "cpu": time.process_time() - cpu})
        except Exception:
            pass
        finally:
            signal.alarm(0)
    print(json.dumps(done))


import logging, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
main()
