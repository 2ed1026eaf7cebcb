package pdfgarbled

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

var (
	irishLines = []string{"Tá an doras oscailte agus tá na daoine ag siúl isteach sa teach mór ar an", "gcnoc. Bhí an aimsir go breá inné, ach beidh sé fliuch amárach de réir mar a", "deirtear. Níl aon duine sa bhaile anois mar chuaigh siad go léir chuig an", "margadh chun bia agus éadaí a cheannach don gheimhreadh atá ag teacht."}
	welshLines = []string{"Mae'r drws ar agor ac mae'r bobl yn cerdded i mewn i'r ysgol newydd wrth yr", "afon. Roedd hi'n bwrw glaw ddoe ond fe fydd hi'n braf yfory yn y gogledd.", "Nid oes neb gartref nawr oherwydd aeth pawb i'r farchnad i brynu bwyd a", "dillad ar gyfer y gaeaf sydd yn dod, meddai hen wraig y llyfrgell wrthym ni ddoe am y tywydd."}
)

func TestSignsOfSymbolFontsAreNoLostText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text  string
		want  bool // significant
		large bool
	}{
		"no text":                        {"", false, false},
		"text":                           {"Open at noon", false, false},
		"bullets":                        {strings.Repeat("\uf0b7 Item ", 200), false, false},
		"arrows, in pairs":               {strings.Repeat("a \uf0e0\uf0e1 b ", 200), false, false},
		"a line of one ornament":         {strings.Repeat("\uf02d", 200) + " text", false, false},
		"a word in a long text":          {strings.Repeat("gate ", 200) + "\ufffd\ufffd\ufffd\ufffd", false, false},
		"a line in a long text":          {strings.Repeat("gate ", 200) + strings.Repeat("\ufffd", 20), true, false},
		"a word in hardly any text":      {"gate \ufffd\ufffd\ufffd\ufffd", true, true},
		"numbers of glyphs":              {strings.Repeat("gate \x01\x02\x03 ", 10), true, true},
		"characters that are unassigned": {strings.Repeat("gate \x00\x00\x00\x00 ", 10), true, true},
		"emoji":                          {strings.Repeat("\U0001f600\U0001f601\U0001f602\U0001f603 ", 10), false, false},
	}
	for name, tt := range tests {
		var u Unknown
		if u.AddWords([]rune(tt.text)); u.IsSignificant() != tt.want || u.IsLarge() != tt.large {
			t.Errorf("%s: significant = %v, large = %v (%+v)", name, u.IsSignificant(), u.IsLarge(), u)
		}
	}
}

func TestLanguagesAreNotTakenForWrongMaps(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string][]string{
		"English": extracttest.ProseLines, "Irish": irishLines, "Welsh": welshLines,
		"Swahili":    {"Mlango wa mji hufunguliwa asubuhi na mapema na kufungwa jioni wakati magari ya mwisho yamefika.", "Hakuna mtu anayeruhusiwa kupita baada ya hapo bila barua ya baraza ambayo husomwa na mlinzi na kuwekwa", "katika sanduku la chuma chini ya ngazi kwa muda wa siku tatu au nne hadi mkuu atakapofika."},
		"Basque":     {"Hiriko atea goizean goiz irekitzen da eta arratsean ixten da azken gurdiak soroetatik etorri direnean.", "Horren ondoren ezin da inor pasatu udalaren gutunik gabe, eta zaindariak ozen irakurtzen du gutuna eta gero", "eskaileren azpiko burdinazko kutxan gordetzen du hiru edo lau egunez nagusia iritsi arte."},
		"Polish":     {"Brama miasta jest otwierana wcześnie rano i zamykana wieczorem, gdy ostatnie wozy wrócą z pól. Nikt nie może", "potem przejść bez listu od rady, który strażnik odczytuje na głos, a następnie przechowuje w żelaznej skrzyni", "pod schodami przez trzy lub cztery dni, aż przyjdzie burmistrz i go zabierze."},
		"Vietnamese": {"Cổng thành được mở vào sáng sớm và đóng lại vào buổi tối khi những chiếc xe cuối cùng đã trở về từ đồng ruộng.", "Sau đó không ai được phép đi qua nếu không có thư của hội đồng, người lính gác đọc to bức thư rồi cất giữ", "trong chiếc hộp sắt dưới cầu thang trong ba hoặc bốn ngày cho đến khi thị trưởng đến lấy đi."},
		"Turkish":    {"Şehrin kapısı sabah erkenden açılır ve son arabalar tarlalardan döndüğünde akşam kapanır. Bundan sonra meclisin", "mektubu olmadan kimse geçemez; mektup nöbetçi tarafından yüksek sesle okunur ve sonra merdivenlerin altındaki", "demir kutuda başkan gelene kadar üç ya da dört gün saklanır."},
		"Finnish":    {"Kaupungin portti avataan aikaisin aamulla ja suljetaan illalla, kun viimeiset kärryt ovat tulleet pelloilta.", "Sen jälkeen kukaan ei saa kulkea ilman neuvoston kirjettä, jonka vartija lukee ääneen ja säilyttää sitten", "rautaisessa laatikossa portaiden alla kolme tai neljä päivää, kunnes pormestari tulee."},
	} {
		right, wrong := letterSample{words: map[string]int{}}, letterSample{words: map[string]int{}}
		for _, l := range lines {
			right.add(l)
			wrong.add(strings.Map(shifted(5), norm.NFKD.String(l)))
		}
		if right.letters < minLetters {
			t.Errorf("%s: only %d letters", name, right.letters)
		}
		if r, w := right.commonShare(), wrong.commonShare(); r < 0.45 || w >= minCommonShare {
			t.Errorf("%s: the share of common pairs is %.2f, and %.2f of the letters exchanged", name, r, w)
		}
	}
}

// shifted returns a function that shifts lower-case letters by `by` places in the alphabet.
func shifted(by rune) func(rune) rune {
	return func(c rune) rune {
		if c < 'a' || c > 'z' {
			return c
		}
		return 'a' + (c-'a'+by)%26
	}
}

func TestWithoutUnknown(t *testing.T) {
	t.Parallel()
	lines := []pdftext.Line{
		{Cells: []pdftext.Cell{{Text: "\ufffd\ufffd\uf041"}, {Text: "\x01\x02"}}, Y: 3},
		{Cells: []pdftext.Cell{{Text: "a\ufffd\ufffdb c", X0: 1, X1: 2}, {Text: "\ufffd"}, {Text: "ж 中"}}, Y: 2, Size: 11},
	}
	if got := WithoutUnknown(lines); len(got) != 1 || got[0].Text() != "a b c\tж 中" || got[0].Y != 2 || got[0].Size != 11 || got[0].Cells[0].X1 != 2 {
		t.Errorf("the decoded lines are %+v", got)
	}
}
