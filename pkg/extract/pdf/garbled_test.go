package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

var (
	codeLines = []string{
		"int fputc_unlocked(int c, FILE *fp) { return putc(c, fp); }", "xmlNodePtr cur = xmlDocGetRootElement(doc); if (cur == NULL) goto err;",
		"for (k = 0; k < ncols; k++) { dst[k] = src[k] ^ msk; } memcpy(buf, dst, n);", "struct stat st; rc = fstat(fd, &st); if (rc) perror(fname); mmap(NULL, len);",
		"strncpy(tmp, ptr, sz); strtok(tmp, sep); printf(fmt, idx, tmp); free(tmp);", "vfprintf(fp, fmt, args); fflush(fp); fclose(fp); pthread_mutex_unlock(mtx);",
	}
	assemblerLines = []string{
		"push rbp; mov rbp, rsp; sub rsp, 16; xor eax, eax; test rdi, rdi; jne done;", "mov ecx, edx; shl ecx, 2; lea rbx, [rdi + rcx]; cmp rbx, rsi; jbe next;",
		"movzx eax, byte ptr [rsi]; imul eax, eax, 31; add eax, ecx; inc rsi; dec edx;", "jnz loop; mov dword ptr [rbx], eax; pop rbx; leave; ret; nop; int; hlt; call exit;",
		"MOVQ SPAN, CRX; PUSHQ CRX; XORPS XMMA, XMMB; CMPXCHG BYTEX, CRX; PREFETCH PTRX;", "push rbx; mov rbx, rsp; mov edx, ecx; shr edx, 4; and edx, 15; jmp next; ret;",
	}
	partLines = []string{
		"QXVKZ-TRPLM-WSDFG BHNJK-XCVBN-PLMKT ZQWRT-HGFDS-MNBVC KJHGF-DSQPW-TYRVB", "XKZQV-MWTRB-LPDFG HJKNB-VCXZQ-WRTPL SDFGH-JKLMN-BVCXZ QWRTY-PSDFG-HJKLZ",
		"VBNMQ-WRTPS-DFGHJ KLZXC-VBNMW-RTYPQ SDFGK-JHLZX-CVNBM TRWQP-LKJHG-FDSZX", "BNMVC-XZLKJ-HGFDS PTRWQ-MNBVX-CZLKH GFDSJ-PYTRW-QNMBV CXZKL-HJGFD-SPWTR",
	}
	formulaLines = []string{
		"f(x) = sin(kx) + cos(ky) - exp(-mx^2) / sqrt(1 + x^2), dx/dt = ab - cd", "lim sup_{n} a_n <= lim inf_{n} b_n; ker(A) = im(B); rank(AB) <= min(n, m)",
		"tr(AB) = tr(BA), det(AB) = det(A) det(B), arg(zw) = arg(z) + arg(w)", "grad f = (df/dx, df/dy), div rot v = 0, log(ab) = log a + log b, tan x = sin x / cos x",
		"H(X, Y) = H(X) + H(Y | X), Var(X + Y) = Var X + Var Y + 2 Cov(X, Y), Pr(A | B)", "mod p, gcd(a, b) lcm(a, b) = ab, sgn(s) = sgn(t), cl(U) = int(V), ord(g) = n",
	}
	basesLines   = []string{"acgtgctagctaggctaacg ttgcatgcaaggctccatgc acgtgctagctaggctaacg", "gattacagattacaggcatc ccatgcatgcttagcatgca gattacagattacaggcatc", "ttgcatgcaaggctccatgc acgtgctagctaggctaacg ggcatccatgcatgcttagc"}
	proteinLines = []string{
		"MVHLTPEEKS AVTALWGKVN VDEVGGEALG RLLVVYPWTQ RFFESFGDLS TPDAVMGNPK", "VKAHGKKVLG AFSDGLAHLD NLKGTFATLS ELHCDKLHVD PENFRLLGNV LVCVLAHHFG", "KEFTPPVQAA YQKVVAGVAN ALAHKYHXXX MGLSDGEWQL VLNVWGKVEA DIPGHGQEVL",
		"IRLFKGHPET LEKFDKFKHL KSEDEMKASE DLKKHGATVL TALGGILKKK GHHEAEIKPL", "AQSHATKHKI PVKYLEFISE CIIQVLQSKH PGDFGADAQG AMNKALELFR KDMASNYKEL",
	}
)

// mappedPDF returns a page of text in a font with a ToUnicode map, which maps each code from space to tilde to the
// character that `to` returns. If `to` is nil, there is no map.
func mappedPDF(lines []string, to func(rune) rune) []byte {
	objects := extracttest.PageObjects(extracttest.PDFLines("F9", 11, 72, 760, lines...))
	mapped := ""
	if to != nil {
		var table strings.Builder
		table.WriteString("1 begincodespacerange <00> <ff> endcodespacerange 95 beginbfchar\n")
		for c := ' '; c <= '~'; c++ {
			fmt.Fprintf(&table, "<%02x> <%04x>\n", c, to(c))
		}
		objects = append(objects, extracttest.Stream("", table.String()+"endbfchar"))
		mapped = fmt.Sprintf("/ToUnicode %d 0 R", len(objects))
	}
	// The glyph names do not reveal the characters, as is common in subset fonts.
	font := "/F9 << /Type /Font /Subtype /Type1 /BaseFont /X /FirstChar 32 /LastChar 126 /Widths [" + strings.Repeat("520 ", 95) + "] /Encoding << /Differences [33" + strings.Repeat(" /c99", 94) + "] >> " + mapped + " >> "
	objects[2] = strings.Replace(objects[2], "/F1 ", font+"/F1 ", 1)
	return extracttest.PDF(objects...)
}

func rightMap(c rune) rune { return c }

// shiftedMap returns a function that shifts each printable character except the space by `by` codes, wrapping around.
func shiftedMap(by rune) func(rune) rune {
	return func(c rune) rune {
		if c == ' ' {
			return c
		}
		return '!' + (c-'!'+by+94)%94
	}
}

func TestFontsWithoutUsableMapsAreReported(t *testing.T) {
	t.Parallel()
	const unmapped, unlikely = "page 1: a font has no usable character map", "page 1: the letters do not form words"
	private := func(c rune) rune {
		if c == ' ' {
			return c
		}
		return 0xe000 + c
	}
	small := func(c rune) rune { // the font maps only capitals and signs
		if c >= 'a' {
			return private(c)
		}
		return c
	}
	tests := map[string]struct {
		text []string
		to   func(rune) rune
		want string // "" for no warning
	}{
		"a right map":                     {extracttest.ProseLines, rightMap, ""},
		"a map that is one off":           {extracttest.ProseLines, shiftedMap(1), unlikely},
		"a map that is two off":           {append(extracttest.ProseLines, extracttest.ProseLines...), shiftedMap(-2), unlikely},
		"numbers of glyphs as characters": {append(extracttest.ProseLines, extracttest.ProseLines...), shiftedMap(-29), unlikely},
		"a map to private characters":     {append([]string{"PAGE ONE OF THE RULES"}, extracttest.ProseLines...), small, unmapped},
		"no map, but codes of ASCII":      {extracttest.ProseLines, nil, ""},               // PDFium reads these codes
		"a few words that are one off":    {extracttest.ProseLines[:1], shiftedMap(1), ""}, // too few words to be sure
		"code":                            {codeLines, rightMap, ""},
		"a listing of assembler":          {assemblerLines, rightMap, ""},
		"part numbers":                    {partLines, rightMap, ""},
		"the same part numbers again":     {append(partLines, partLines...), rightMap, ""},
		"formulas":                        {formulaLines, rightMap, ""},
		"a protein":                       {proteinLines, rightMap, ""},
		"sequences of bases":              {append(basesLines, basesLines...), rightMap, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.pdf", mappedPDF(tt.text, tt.to))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(doc.Warnings, "\n"); (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("the warnings are %q, want %q; text:\n%s", got, tt.want, readtest.Render(doc))
			}
		})
	}
}

func TestPagesOfFontsWithoutMapsAreNamed(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "a.pdf", extracttest.StrangePDF(0, 6, 6, 0, 40))
	if err != nil {
		t.Fatal(err)
	}
	const want = "pages 2 to 3, 5: a font has no usable character map; their text may be wrong or missing"
	if got := strings.Join(doc.Warnings, "\n"); got != want {
		t.Errorf("the warnings are %q, want %q", got, want)
	}
}

func TestAFileOfNothingButUnknownCharactersSaysSo(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "a.pdf", mappedPDF(extracttest.ProseLines, func(c rune) rune { return 0xe000 + c }))
	if format.KindOf(err) != format.NoText || !strings.Contains(err.Error(), "do not specify which characters") {
		t.Errorf("the error is %v; document: %v", err, doc)
	}
}
