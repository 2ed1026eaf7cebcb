"""rectangles.py LIST: the characters of PDF pages with the boxes of their visible shapes, as PDFium reads them.

LIST is a JSON array of objects with `file` and `pages`, a list of page numbers from 1. Prints a JSON array with an object
for each page that could be read: file, page, and chars, an array of [text, line, x0, y0, x1, y1]. The origin is the upper
left corner of the displayed page, and the unit is a point."""
import ctypes, json, sys
import pypdfium2 as pdfium
import pypdfium2.raw as raw

SCALE = 1000


def to_display(page):
    """Returns a function that converts page coordinates to those of the displayed page."""
    width, height = page.get_size()
    x, y = ctypes.c_int(), ctypes.c_int()

    def device(px, py):
        raw.FPDF_PageToDevice(page, 0, 0, round(width * SCALE), round(height * SCALE), 0, px, py, x, y)
        return x.value / SCALE, y.value / SCALE

    (ox, oy), (ax, ay), (bx, by) = device(0, 0), device(100, 0), device(0, 100)

    def display(px, py):
        return ox + (ax - ox) * px / 100 + (bx - ox) * py / 100, oy + (ay - oy) * px / 100 + (by - oy) * py / 100

    return display


def main():
    out = []
    for want in json.load(open(sys.argv[1], encoding="utf8")):
        doc = pdfium.PdfDocument(want["file"])
        for number in want["pages"]:
            if not 1 <= number <= len(doc):
                continue
            page = doc[number - 1]
            display, text = to_display(page), page.get_textpage()
            chars, line = [], 0
            for i in range(text.count_chars()):
                code = raw.FPDFText_GetUnicode(text, i)
                if code in (10, 13):
                    line += 1
                if raw.FPDFText_IsGenerated(text, i) or code in (0, 10, 13):
                    chars.append([" ", line, 0, 0, 0, 0])  # it separates words, but is not on the page
                    continue
                left, bottom, right, top = text.get_charbox(i)
                (x0, y0), (x1, y1) = display(left, bottom), display(right, top)
                c = "-" if code in (2, 0xFFFE) else chr(code)
                chars.append([c, line, *(round(v, 2) for v in (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))])
            out.append({"file": want["file"], "page": number, "chars": chars})
    print(json.dumps(out))


main()
