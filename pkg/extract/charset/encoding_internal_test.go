package charset

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// samples are ordinary sentences. Some are short, because a CSV file's encoding often shows only in its first line.
var samples = map[string]struct {
	text      string
	encodings string
}{
	"German":                     {"Für Dienstreisen gilt die Bahn als übliches Verkehrsmittel; Größere Beträge genehmigt die Geschäftsführung.", "windows-1252 iso-8859-15 macintosh cp850 cp437"},
	"French":                     {"La société a été fondée à Bergen par les sœurs Halvorsen ; l'élève n'a jamais été reçu où il espérait.", "windows-1252 macintosh"},
	"Spanish":                    {"El niño comió una manzana en la montaña; después volvió a su habitación y escribió una canción.", "windows-1252 cp850 macintosh"},
	"Portuguese":                 {"A informação não está disponível até amanhã; as condições serão alteradas pela direção.", "windows-1252"},
	"Swedish":                    {"Räkningen ska betalas före den första i månaden; frågor besvaras på vår hemsida.", "windows-1252 macintosh cp850"},
	"Danish":                     {"Søren spiste rødgrød med fløde på en ø nær kysten, og det var både sødt og mærkeligt.", "windows-1252"},
	"Icelandic":                  {"Það er mjög fallegt veður í dag og við ætlum að fara út í göngutúr með hundinn.", "windows-1252"},
	"English":                    {"The café’s résumé – “naïve” as it was – cost £5.", "windows-1252"},
	"Polish":                     {"Naukowcy zauważyli, że zmiana rytmu snu w dni wolne od pracy prowadzi do rozregulowania wewnętrznego zegara.", "windows-1250 iso-8859-2 cp852"},
	"Czech":                      {"Příliš žluťoučký kůň úpěl ďábelské ódy; zítra bude v celé zemi hezky a teplo.", "windows-1250 iso-8859-2 cp852"},
	"Hungarian":                  {"Az árvíztűrő tükörfúrógép működéséről szóló könyv három éve jelent meg, és többször is elfogyott.", "windows-1250"},
	"Romanian":                   {"Această societate a fost înfiinţată în anul următor şi îşi are sediul în oraşul Bucureşti, România, lângă gară.", "windows-1250"},
	"Croatian":                   {"Osječki čamci plove rijekom; već sljedeći tjedan počinje novo razdoblje za cijelu državu i građane.", "windows-1250"},
	"Turkish":                    {"Şirketimiz yarın öğleden sonra kapalı olacaktır; sipariş için lütfen müşteri hizmetlerini arayınız.", "windows-1254"},
	"Lithuanian":                 {"Ši įmonė buvo įkurta Vilniuje prieš dešimt metų ir šiandien turi daugiau kaip šimtą darbuotojų.", "windows-1257"},
	"Latvian":                    {"Šis uzņēmums tika dibināts Rīgā pirms desmit gadiem, un tajā strādā vairāk nekā simts cilvēku.", "windows-1257"},
	"Russian":                    {"Договор заключён на три года; стороны обязаны сообщать об изменениях в письменной форме.", "windows-1251 koi8-r ibm866 iso-8859-5 x-mac-cyrillic"},
	"Ukrainian":                  {"Договір укладено на три роки; сторони зобов'язані повідомляти про зміни у письмовій формі, якщо їх є кілька.", "windows-1251 koi8-u"},
	"Bulgarian":                  {"Договорът се сключва за срок от три години, като страните са длъжни да съобщават за промените.", "windows-1251"},
	"Greek":                      {"Η σύμβαση διαρκεί τρία χρόνια και ανανεώνεται αυτόματα, εκτός αν καταγγελθεί εγγράφως.", "windows-1253 iso-8859-7"},
	"Hebrew":                     {"ההסכם נחתם לשלוש שנים והצדדים מחויבים להודיע על כל שינוי בכתב.", "windows-1255"},
	"Arabic":                     {"تم توقيع العقد لمدة ثلاث سنوات ويجب على الطرفين الإبلاغ عن أي تغيير كتابيا.", "windows-1256 iso-8859-6"},
	"Thai":                       {"สัญญานี้มีอายุสามปีและคู่สัญญาต้องแจ้งการเปลี่ยนแปลงเป็นหนังสือ", "windows-874"},
	"Japanese":                   {"契約期間は三年間で、自動的に更新されます。連絡先は大阪の支店です。", "shift_jis euc-jp iso-2022-jp"},
	"Japanese of few characters": {"商品名,価格\nりんご,100\nみかん,80\n", "shift_jis euc-jp"},
	"Chinese":                    {"合同期限为三年，双方必须以书面形式通知任何变更。", "gb18030 gbk"},
	"Chinese of few characters":  {"名称,价格\n苹果,100\n桔子,80\n", "gb18030"},
	"Chinese table":              {chineseTable, "gb18030"},
	"Japanese table":             {japaneseTable, "shift_jis euc-jp"},
	"Taiwanese table":            {taiwaneseTable, "big5"},
	"Korean table":               {koreanTable, "euc-kr"},
	"Taiwanese":                  {"合約期限為三年，雙方必須以書面形式通知任何變更。", "big5"},
	"Korean":                     {"계약 기간은 삼 년이며 당사자는 변경 사항을 서면으로 통지해야 합니다.", "euc-kr"},
	"Korean of few characters":   {"이름,가격\n사과,100\n배,80\n", "euc-kr"},
}

// Tables that repeat a few words. Most of the characters in them aren't among the most frequent in their languages.
const (
	chineseTable   = "名称,位置,数量\n水泵ZH-1,仓库第1排,1\n水泵ZH-2,仓库第2排,2\n滤芯ZH-3,仓库第3排,3\n"
	japaneseTable  = "商品,場所,数量\n灯油缶JA-1,倉庫の棚1番,1\n灯油缶JA-2,倉庫の棚2番,2\n"
	taiwaneseTable = "名稱,位置,數量\n幫浦TW-1,倉庫第1排,1\n幫浦TW-2,倉庫第2排,2\n"
	koreanTable    = "품목,위치,수량\n펌프KR-1,창고 1열,1\n밸브KR-2,창고 2열,2\n"
)

func TestTextOfEveryEncodingIsReadWithoutALabel(t *testing.T) {
	t.Parallel()
	for language, tt := range samples {
		for name := range strings.FieldsSeq(tt.encodings) {
			t.Run(language+" in "+name, func(t *testing.T) {
				t.Parallel()
				enc, _ := ByName(name)
				data, err := enc.NewEncoder().Bytes([]byte(tt.text))
				if err != nil {
					t.Fatal(err)
				}
				if got, guessed := Decode(data, ""); got != tt.text {
					t.Errorf("read as %s: %q, want %q", guessed, got, tt.text)
				}
			})
		}
	}
}

func TestUTF16OfEveryLanguageIsReadWithoutAMark(t *testing.T) {
	t.Parallel()
	for language, tt := range samples {
		for name, order := range map[string]unicode.Endianness{"little endian": unicode.LittleEndian, "big endian": unicode.BigEndian} {
			for _, bom := range []unicode.BOMPolicy{unicode.IgnoreBOM, unicode.UseBOM} {
				if bom == unicode.IgnoreBOM && strings.Count(tt.text, " ")+strings.Count(tt.text, "\n") < 3 {
					continue // the text does not reveal its encoding
				}
				data, err := unicode.UTF16(order, bom).NewEncoder().Bytes([]byte(tt.text))
				if err != nil {
					t.Fatal(err)
				}
				if got, guessed := Decode(data, ""); got != tt.text {
					t.Errorf("%s, %s, mark %v: read as %s: %.60q", language, name, bom == unicode.UseBOM, guessed, got)
				}
			}
		}
	}
}

func TestTheDeclaredCharsetDecidesWhereBytesCannot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data, label, want string
	}{
		"a label is believed":                        {"\xe6\xf8", "windows-1257", "ęų"},
		"well-formed UTF-8 is UTF-8 all the same":    {"größe", "iso-8859-1", "größe"},
		"a label that says UTF-16 needs zero bytes":  {"plain", "utf-16le", "plain"},
		"an unknown label is passed over":            {"gr\xf6\xdfe", "x-klingon", "größe"},
		"Latin-1 said of Russian is not believed":    {"\xd2\xc5\xdb\xc5\xce\xc9\xc5 \xd0\xd2\xc9\xce\xd1\xd4\xcf \xcb\xcf\xcd\xc9\xd3\xd3\xc9\xc5\xca", "iso-8859-1", "решение принято комиссией"},
		"a text cut within a character is UTF-8":     {"größe größe übung \xc3", "", "größe größe übung \uFFFD"},
		"a mark of UTF-8 does not become part of it": {"\xef\xbb\xbfa", "", "a"},
		"declared UTF-8 with a few foreign bytes":    {"schön und größer, caf\xe9", "utf-8", "schön und größer, café"},
		"declared UTF-8 without any":                 {"caf\xe9 cr\xe8me", "utf-8", "café crème"},
		"UTF-8 with a few foreign bytes":             {"schön und größer, caf\xe9 cr\xe8me", "", "schön und größer, café crème"},
		"two UTF-8 words and a foreign one":          {"Mönch, Fußweg, entr\xe9e", "", "Mönch, Fußweg, entrée"},
		"as many foreign words as UTF-8 ones":        {"Fußweg\nMönch\nentr\xe9e\nHaust\xfcr\n", "", "Fußweg\nMönch\nentrée\nHaustür\n"},
		"one word of each, declared UTF-8":           {"Mönch, entr\xe9e", "utf-8", "Mönch, entrée"},
		"more foreign words than UTF-8 ones":         {"Mönch, entr\xe9e, cr\xe8me, Haust\xfcr", "", "Mönch, entrée, crème, Haustür"},
		"a UTF-8 text cut after the first byte":      {"größe größe übung caf\xc3", "", "größe größe übung caf\uFFFD"},
		"UTF-32 of Cyrillic without a mark":          {"\x34\x04\x00\x00\x30\x04\x00\x00\x0a\x00\x00\x00", "", "да\n"},
		"UTF-32, big endian, without a mark":         {"\x00\x00\x4f\x60\x00\x00\x59\x7d", "", "你好"},
		"foreign bytes together":                     {"schön, größer, höher, gr\xf6\xdfer", "", "schön, größer, höher, größer"},
		"Russian among UTF-8":                        {"Договор заключён на три года. \xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0?", "", "Договор заключён на три года. Привет, как дела?"},
		"what is left of a sequence is not a word":   {"größe größe größe \xe2\x82 übung", "", "größe größe größe \uFFFD übung"},
		"a label is not believed against UTF-8":      {"größe größe größe größe größe caf\xe9", "iso-8859-1", "größe größe größe größe größe café"},
		"a sign alone does not refute a label":       {"A door costs \x80 500.", "windows-1252", "A door costs € 500."},
		"a sign alone is no letter":                  {"A door costs \x80 500.", "", "A door costs € 500."},
		"an XML declaration is a label":              {"<?xml version='1.0' encoding='iso-8859-15'?><p>5 \xa4</p>", "", "<?xml version='1.0' encoding='iso-8859-15'?><p>5 €</p>"},
		"a label counts before an XML declaration":   {"<?xml version=\"1.0\" encoding=\"iso-8859-15\"?><p>\xe6\xf8</p>", "windows-1257", "<?xml version=\"1.0\" encoding=\"iso-8859-15\"?><p>ęų</p>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, enc := Decode([]byte(tt.data), tt.label); got != tt.want {
				t.Errorf("decodeText as %s = %q, want %q", enc, got, tt.want)
			}
		})
	}
}

func TestForeignWordsInUTF8OfEveryLanguageAreRead(t *testing.T) {
	t.Parallel()
	for language, tt := range samples {
		for label, stray := range map[string]string{"": "Le caf\xe9 de Li\xe8ge", "utf-8": "gr\xf6\xdfer"} {
			text := tt.text + "\n" + tt.text + "\n"
			want := text + map[string]string{"": "Le café de Liège", "utf-8": "größer"}[label]
			if got, name := Decode([]byte(text+stray), label); got != want {
				t.Errorf("%s with label %q read as %s: %q", language, label, name, got)
			}
		}
	}
}

func TestEvidenceIsTheSameInPieces(t *testing.T) {
	t.Parallel()
	data := []byte(strings.Repeat("Übergrößenträger жук 漢字. ", 50))
	var whole Evidence
	whole.Add(data)
	var pieces Evidence
	for i := range data {
		pieces.Add(data[i : i+1])
	}
	if whole.validSequences != pieces.validSequences || pieces.Bad != 0 {
		t.Errorf("in pieces %d good and %d bad, whole %d and %d", pieces.validSequences, pieces.Bad, whole.validSequences, whole.Bad)
	}
}

func FuzzDecodeText(f *testing.F) {
	for _, tt := range samples {
		for name := range strings.FieldsSeq(tt.encodings) {
			enc, _ := ByName(name)
			data, err := enc.NewEncoder().Bytes([]byte(tt.text))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, "")
		}
	}
	f.Add([]byte("caf\xe9"), "iso-8859-1")
	f.Fuzz(func(t *testing.T, data []byte, label string) {
		text, name := Decode(data, label)
		if !utf8.ValidString(text) || name == "" {
			t.Errorf("decodeText = %q as %q, want valid UTF-8 and a name", text, name)
		}
	})
}
