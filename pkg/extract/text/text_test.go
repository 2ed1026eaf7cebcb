package text_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/readtest"
)

func TestPlainTextIsReadInParagraphsHeadingsAndPages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"empty lines part paragraphs": {"one\ntwo\n\n \nthree", "paragraph: one\ntwo\nparagraph: three"},
		"line ends of all systems":    {"one\r\n\r\ntwo\r\rthree", "paragraph: one\nparagraph: two\nparagraph: three"},
		"lines that a mail program wrapped are joined": {
			"The warranty covers all parts of the pump for seven years from the day of\ndelivery, unless the seal was opened by somebody else than our own main-\ntenance team or its partners.",
			"paragraph: The warranty covers all parts of the pump for seven years from the day of delivery, unless the seal was opened by somebody else than our own maintenance team or its partners."},
		"wrapped Chinese is joined without spaces": {
			"合同期限为三年双方必须以书面形式通知任何变更如果一方违反合同另一方\n有权要求赔偿损失并且可以解除合同本合同自签字之日起生效有效期为三年",
			"paragraph: 合同期限为三年双方必须以书面形式通知任何变更如果一方违反合同另一方有权要求赔偿损失并且可以解除合同本合同自签字之日起生效有效期为三年"},
		"a poem keeps its lines": {
			"Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough winds do shake the darling buds of May,",
			"paragraph: Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough winds do shake the darling buds of May,"},
		"a list keeps its lines": {
			"- the first of the things that have to be done before noon\n- the second of the things that have to be done before",
			"paragraph: - the first of the things that have to be done before noon\n- the second of the things that have to be done before"},
		"an underlined line is a heading": {"Safety\n======\nWear gloves.\n\nStorage\n-------\nKeep dry.", "heading 1: Safety\nparagraph: Wear gloves.\nheading 2: Storage\nparagraph: Keep dry."},
		"a rule is no underline":          {"a\n\n----------------------\n\nb", "paragraph: a\nparagraph: ----------------------\nparagraph: b"},
		"a numbered line in capitals":     {"2.1 SCOPE OF DELIVERY\n\nOne pump.", "heading 2: 2.1 SCOPE OF DELIVERY\nparagraph: One pump."},
		"form feeds part pages":           {"one\n\ftwo\f\n\fthree", "paragraph on 1: one\nparagraph on 2: two\nparagraph on 3: three"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.txt", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALineLongerThanAnyIsReadInPieces(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("zwölf Größen ", 250_000)
	doc, err := readtest.Parse(t, "a.txt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, b := range doc.Blocks {
		got.WriteString(b.Text)
	}
	strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
	if strip(got.String()) != strip(text) {
		t.Error("text was lost or damaged")
	}
}
