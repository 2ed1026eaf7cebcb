package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

func TestHeaderRowsAreFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rows      [][]string
		at, depth int
	}{
		"the first row names the columns":          {[][]string{{"name", "age"}, {"Ann", "31"}}, 0, 1},
		"titles above the header are passed":       {[][]string{{"Staff"}, {"name", "age"}, {"Ann", "31"}}, 1, 1},
		"a first row with numbers is data":         {[][]string{{"Ann", "31"}, {"Ben", "29"}}, -1, 0},
		"years are names":                          {[][]string{{"", "2023", "2024"}, {"sales", "1", "2"}}, 0, 1},
		"one name for all is no header":            {[][]string{{"a", "a"}, {"b", "c"}}, -1, 0},
		"names may stand twice":                    {[][]string{{"item", "amount", "item", "amount"}, {"oil", "1", "gas", "2"}}, 0, 1},
		"a single column has no header":            {[][]string{{"a"}, {"b"}}, -1, 0},
		"a header without rows below is no header": {[][]string{{"a", "b"}}, -1, 0},
		"words that come again below are values":   {[][]string{{"Ann", "Oslo"}, {"Ben", "Rome"}, {"Cem", "Oslo"}, {"Dana", "Oslo"}}, -1, 0},
		"a title of two cells is passed":           {[][]string{{"Quarter", "2024-Q1"}, {"Region", "Units", "Amount"}, {"North", "5", "70"}, {"South", "6", "80"}}, 1, 1},
		"amounts with their units are data":        {[][]string{{"Fuse", "16 A"}, {"Fuse", "25 A"}}, -1, 0},
		"three rows of names": {[][]string{{"", "2023", "", "", "", "2024"}, {"", "H1", "", "H2", "", "H1"}, {"Region", "Q1", "Q2", "Q3", "Q4", "Q1"},
			{"North", "1", "2", "3", "4", "5"}, {"South", "5", "6", "7", "8", "9"}}, 0, 3},
		"groups over years": {[][]string{{"", "Revenue", "", "Cost"}, {"Region", "2022", "2023", "2022", "2023"}, {"North", "1", "2", "3", "4"}, {"South", "5", "6", "7", "8"}}, 0, 2},
		"groups of columns have a row above": {[][]string{{"", "2023", "", "2024"}, {"Region", "Q1", "Q2", "Q1"},
			{"North", "1", "2", "3"}, {"South", "4", "5", "6"}}, 0, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if at, depth := HeaderRows(tt.rows); at != tt.at || depth != tt.depth {
				t.Errorf("headerRows = %d, %d; want %d, %d", at, depth, tt.at, tt.depth)
			}
		})
	}
}

// written passes the rows to the writer and returns the lines that it writes. A row without cells stands for a gap.
func written(t *testing.T, w *Writer, rows []Row) string {
	t.Helper()
	var lines []string
	w.Out = &format.Sink{Left: 1 << 20, Max: 1 << 20, Emit: func(b domain.Block) error {
		lines = append(lines, b.Text)
		return nil
	}}
	for _, r := range rows {
		add := func() error { return w.Add(r) }
		if len(r.Cells) == 0 {
			add = w.EmptyRow
		}
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestRowsOfLabelsAndValuesAreNoRecords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rows, want string // cells are separated by "|"; highlighted ones have a "*"
		plain      bool
	}{
		"values of all kinds":                    {rows: "Title|Yearly report/Date|2024-05-06/Author|Ann Lee/Budget|€ 1,000", want: "Title: Yearly report/Date: 2024-05-06/Author: Ann Lee/Budget: € 1,000"},
		"amounts in units of their own":          {rows: "Colour|grey/Voltage|230 V/Current|16 A/Mass|5 kg", want: "Colour: grey/Voltage: 230 V/Current: 16 A/Mass: 5 kg"},
		"labels that end in colons":              {rows: "Name:|Ann/City:|Oslo/Post:|clerk", want: "Name: Ann/City: Oslo/Post: clerk"},
		"labels that are set off":                {rows: "*Name|Ann/*City|Oslo/*Post|clerk", want: "Name: Ann/City: Oslo/Post: clerk"},
		"a first value that no name can be":      {rows: "Height|1.75/Weight|70/Age|31", want: "Height: 1.75/Weight: 70/Age: 31"},
		"columns apart from each other":          {rows: "|Height||1.75/|Weight||70", want: "Height: 1.75/Weight: 70"},
		"a label without a value":                {rows: "Height|1.75/Remarks/Weight|70", want: "Height: 1.75/Remarks/Weight: 70"},
		"cells alone where these are asked for":  {rows: "Height|1.75/Weight|70", plain: true, want: "Height\t1.75/Weight\t70"},
		"a header over values of one kind":       {rows: "Item|Price/apple|1.20/pear|0.90/plum|2.10", want: "Item\tPrice/Item: apple; Price: 1.20/Item: pear; Price: 0.90/Item: plum; Price: 2.10"},
		"a header over words":                    {rows: "Name|City/Ann|Oslo/Ben|Rome/Cem|Bonn", want: "Name\tCity/Name: Ann; City: Oslo/Name: Ben; City: Rome/Name: Cem; City: Bonn"},
		"a header that is set off":               {rows: "*Property|*Setting/Date|2024-05-06/Author|Ann Lee/Mass|5 kg", want: "Property\tSetting/Property: Date; Setting: 2024-05-06/Property: Author; Setting: Ann Lee/Property: Mass; Setting: 5 kg"},
		"a header that says values":              {rows: "Property|Value/Date|2024-05-06/Author|Ann Lee/Mass|5 kg", want: "Property\tValue/Property: Date; Value: 2024-05-06/Property: Author; Value: Ann Lee/Property: Mass; Value: 5 kg"},
		"the same words in the first column":     {rows: "Kind|Size/oak|5 m/oak|31 kg/elm|tall", want: "Kind\tSize/Kind: oak; Size: 5 m/Kind: oak; Size: 31 kg/Kind: elm; Size: tall"},
		"lines above a table":                    {rows: "Author|Ann/Unit|Sales//Item|Price|Stock/apple|1.20|7/pear|0.90|8", want: "Author: Ann/Unit: Sales/Item\tPrice\tStock/Item: apple; Price: 1.20; Stock: 7/Item: pear; Price: 0.90; Stock: 8"},
		"names, numbers and dates":               {rows: "Customer|Smith GmbH/VAT id|DE811/Date|2021-01-01", want: "Customer: Smith GmbH/VAT id: DE811/Date: 2021-01-01"},
		"German properties of one kind":          {rows: "Kunde|Meier AG/Ansprechpartner|Frau Huber/Ort|Graz", want: "Kunde: Meier AG/Ansprechpartner: Frau Huber/Ort: Graz"},
		"French properties":                      {rows: "Client|Durand SA/N° de facture|F-2021-7/Échéance|31.01.2021/Montant|120,00", want: "Client: Durand SA/N° de facture: F-2021-7/Échéance: 31.01.2021/Montant: 120,00"},
		"German compounds":                       {rows: "Rechnungsnummer|R 17/Rechnungsdatum|3. Mai/Bemerkung|keine", want: "Rechnungsnummer: R 17/Rechnungsdatum: 3. Mai/Bemerkung: keine"},
		"properties above a table":               {rows: "Customer|Smith GmbH/VAT id|DE811/Item|Quantity|Price/Lamp|2|10.00/Bulb|4|1.50", want: "Customer: Smith GmbH/VAT id: DE811/Item\tQuantity\tPrice/Item: Lamp; Quantity: 2; Price: 10.00/Item: Bulb; Quantity: 4; Price: 1.50"},
		"properties above a table of words":      {rows: "Invoice/Kunde|Meier AG/Ort|Graz/Artikel|Farbe|Lager/Lampe|rot|Graz/Birne|weiß|Linz", want: "Invoice/Kunde: Meier AG/Ort: Graz/Artikel\tFarbe\tLager/Artikel: Lampe; Farbe: rot; Lager: Graz/Artikel: Birne; Farbe: weiß; Lager: Linz"},
		"properties, a gap and a table":          {rows: "Customer|Smith GmbH/VAT id|DE811/Date|2021-01-01//Item|Price|Stock/Lamp|10.00|3/Bulb|1.50|4", want: "Customer: Smith GmbH/VAT id: DE811/Date: 2021-01-01/Item\tPrice\tStock/Item: Lamp; Price: 10.00; Stock: 3/Item: Bulb; Price: 1.50; Stock: 4"},
		"properties side by side":                {rows: "Kunde:|Meier AG||Datum:|2021-01-01/Ort:|Graz||Nummer:|17/Artikel|Menge|Preis|Summe/Lampe|2|10,00|20,00/Birne|1|1,50|1,50", want: "Kunde: Meier AG; Datum: 2021-01-01/Ort: Graz; Nummer: 17/Artikel\tMenge\tPreis\tSumme/Artikel: Lampe; Menge: 2; Preis: 10,00; Summe: 20,00/Artikel: Birne; Menge: 1; Preis: 1,50; Summe: 1,50"},
		"properties side by side without colons": {rows: "Order|R 5|Customer|Nord AG/Date|2021-01-01|Terms|30 days/Item|Quantity|Price/Lamp|2|10.00/Bulb|1|1.50", want: "Order: R 5; Customer: Nord AG/Date: 2021-01-01; Terms: 30 days/Item\tQuantity\tPrice/Item: Lamp; Quantity: 2; Price: 10.00/Item: Bulb; Quantity: 1; Price: 1.50"},
		"properties side by side alone":          {rows: "Kunde|Meier AG||Telefon|0316 55/Ort|Graz||Datum|3. Mai/Betreff|Dach", want: "Kunde: Meier AG; Telefon: 0316 55/Ort: Graz; Datum: 3. Mai/Betreff: Dach"},
		"a header of common property names":      {rows: "Date|Text|Amount|Left/2021-01-01|Lamp|10.00|5/2021-01-02|Bulb|3.00|2", want: "Date\tText\tAmount\tLeft/Date: 2021-01-01; Text: Lamp; Amount: 10.00; Left: 5/Date: 2021-01-02; Text: Bulb; Amount: 3.00; Left: 2"},
		"a header of common names above words":   {rows: "Name|Room|City|Floor/Ann|Blue|Oslo|first/Ben|Red|Rome|second", want: "Name\tRoom\tCity\tFloor/Name: Ann; Room: Blue; City: Oslo; Floor: first/Name: Ben; Room: Red; City: Rome; Floor: second"},
		"short questions":                        {rows: "How long?|Two years/Where?|In Ghent/Why?|Custom", want: "How long? Two years/Where? In Ghent/Why? Custom"},
		"sums below a table":                     {rows: "Item|Quantity|Price/Lamp|2|10.00/Bulb|4|1.50//Subtotal|26.00/VAT|4.94/Total|30.94", want: "Item\tQuantity\tPrice/Item: Lamp; Quantity: 2; Price: 10.00/Item: Bulb; Quantity: 4; Price: 1.50/Subtotal: 26.00/VAT: 4.94/Total: 30.94"},
		"questions and answers":                  {rows: "How do I pay?|By card or transfer./Where are you?|In Bergen./Is it safe?|Yes.", want: "How do I pay? By card or transfer./Where are you? In Bergen./Is it safe? Yes."},
		"German questions":                       {rows: "Wie zahle ich?|Mit Karte/Wo sind Sie?|In Graz", want: "Wie zahle ich? Mit Karte/Wo sind Sie? In Graz"},
		"Japanese questions":                     {rows: "支払い方法は何ですか|カードです。/どこにありますか|大阪です。", want: "支払い方法は何ですか カードです。/どこにありますか 大阪です。"},
		"Chinese questions":                      {rows: "如何付款？|可以刷卡。/你们在哪里？|在上海。", want: "如何付款？ 可以刷卡。/你们在哪里？ 在上海。"},
		"Arabic questions":                       {rows: "كيف أدفع؟|بالبطاقة./أين أنتم؟|في القاهرة.", want: "كيف أدفع؟ بالبطاقة./أين أنتم؟ في القاهرة."},
		"instructions and what they mean":        {rows: "pay by card|Open the app and choose a card to pay with./leave a tip|Open the app and choose the tip you leave.", want: "pay by card: Open the app and choose a card to pay with./leave a tip: Open the app and choose the tip you leave."},
		"questions under a header":               {rows: "Question|Answer/How do I pay?|By card./Where are you?|In Bergen.", want: "Question\tAnswer/Question: How do I pay?; Answer: By card./Question: Where are you?; Answer: In Bergen."},
		"what a questionnaire asks":              {rows: "Name|Are you satisfied?/Ann|yes/Ben|no/Cem|yes", want: "Name\tAre you satisfied?/Name: Ann; Are you satisfied?: yes/Name: Ben; Are you satisfied?: no/Name: Cem; Are you satisfied?: yes"},
		"a column of one word with a mark":       {rows: "Name|Paid?/Ann|yes/Ben|no/Cem|yes", want: "Name\tPaid?/Name: Ann; Paid?: yes/Name: Ben; Paid?: no/Name: Cem; Paid?: yes"},
		"spans of time and dates with dots":      {rows: "Vertragsgegner|Nord AG/Dauer|36 Monate/Start|01.01.2024/Ende|3 Monate vorher", want: "Vertragsgegner: Nord AG/Dauer: 36 Monate/Start: 01.01.2024/Ende: 3 Monate vorher"},
		"Thai questions":                         {rows: "จ่ายเงินอย่างไร|ด้วยบัตร/ร้านอยู่ที่ไหน|เชียงใหม่", want: "จ่ายเงินอย่างไร ด้วยบัตร/ร้านอยู่ที่ไหน เชียงใหม่"},
		"prices with a remark":                   {rows: "Item|Price/Lamp|10.00/Bulb|on request/Wire|2.00", want: "Item\tPrice/Item: Lamp; Price: 10.00/Item: Bulb; Price: on request/Item: Wire; Price: 2.00"},
		"places and their capitals":              {rows: "Country|Capital/Norway|Oslo/Italy|Rome", want: "Country\tCapital/Country: Norway; Capital: Oslo/Country: Italy; Capital: Rome"},
		"rows of a table that go on after a gap": {rows: "Item|Price/apple|1.20/pear|0.90//plum|2.10/fig|3.00", want: "Item\tPrice/Item: apple; Price: 1.20/Item: pear; Price: 0.90/Item: plum; Price: 2.10/Item: fig; Price: 3.00"},
		"titles of a second table":               {rows: "Item|Price/apple|1.20/pear|0.90//Year|2024-05/City|Size|Mayor/Oslo|9|Bo/Rome|8|Al", want: "Item\tPrice/Item: apple; Price: 1.20/Item: pear; Price: 0.90/Year\t2024-05/City\tSize\tMayor/City: Oslo; Size: 9; Mayor: Bo/City: Rome; Size: 8; Mayor: Al"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rows []Row
			for line := range strings.SplitSeq(tt.rows, "/") {
				r := Row{}
				if line != "" {
					r.Cells = strings.Split(line, "|")
				}
				for i, c := range r.Cells {
					text, marked := strings.CutPrefix(c, "*")
					r.Cells[i], r.Marked = text, append(r.Marked, marked)
				}
				rows = append(rows, r)
			}
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(written(t, &Writer{Plain: tt.plain}, rows), "\n", "/")); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAmountsAreRecognisedByTheirUnits(t *testing.T) {
	t.Parallel()
	for text, unit := range map[string]string{"16 A": "A", "5kg": "kg", "€ 1,000": "€", "1.5 %": "%", "-3.5": "", "≥ 10 mm": "mm", "230V": "V", "1 000,50 kr": "kr"} {
		if got, ok := amountUnit(text); got != unit || !ok {
			t.Errorf("amountUnit(%q) = %q, %t; want %q", text, got, ok, unit)
		}
	}
	names := []string{"", "2023", "3D", "1st", "2nd", "Q1", "12 months", "Section 2", "2024-05-06", "a 5 b", "10:30"}
	if i := slices.IndexFunc(names, func(s string) bool { _, ok := amountUnit(s); return ok }); i >= 0 {
		t.Errorf("%q is taken for an amount", names[i])
	}
}
