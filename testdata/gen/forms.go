package main

import (
	"fmt"
	"strings"
)

// cells writes one row. Each cell begins at its position in `at`.
func (p *pageText) cells(font string, at []float64, cells ...string) {
	y := p.y
	for i, c := range cells {
		p.y = y
		if c != "" {
			p.show(font, 9, at[i], c)
		}
	}
	p.y = y - 14
}

// claimPDF returns a form with two label-value pairs per row, followed by tables.
func claimPDF() ([]byte, error) {
	one := &pageText{y: 780}
	one.heading(16, "Penhallow Motor Insurance")
	one.heading(12, "Vehicle damage estimate")
	grid := []float64{60, 165, 310, 415}
	for _, r := range [][]string{
		{"Owner", "Gwendolyn Parr", "Year", "2021"},
		{"Claim number", "PMI-2025-6617", "Make", "Sorrel"},
		{"Policy number", "VX-440918", "Model", "Meridian Estate"},
		{"Date of loss", "19 February 2025", "Colour", "Slate grey"},
		{"Date of inspection", "27 February 2025", "Mileage", "41,870"},
		{"Inspector", "Owen Trethewey", "Registration", "PN21 KOW"},
		{"Excess", "350.00", "Point of impact", "Left rear"},
		{"Type of loss", "Collision", "Repairer", "Coombe Bodyworks"},
	} {
		one.cells("F1", grid, r...)
	}
	one.y -= 8
	one.heading(12, "Estimate lines")
	lines := []float64{60, 85, 270, 330, 390, 450}
	one.cells("F2", lines, "No.", "Operation", "Hours", "Part price", "Labour", "Total")
	for _, r := range [][]string{
		{"1", "Replace rear bumper cover", "2.4", "412.60", "115.20", "527.80"},
		{"2", "Repair left quarter panel", "6.5", "0.00", "312.00", "312.00"},
		{"3", "Replace left tail lamp", "0.6", "188.45", "28.80", "217.25"},
		{"4", "Replace parking sensor", "0.8", "74.90", "38.40", "113.30"},
		{"5", "Refinish rear bumper cover", "2.9", "0.00", "139.20", "139.20"},
		{"6", "Refinish left quarter panel", "3.1", "0.00", "148.80", "148.80"},
		{"7", "Wheel alignment, sublet", "", "95.00", "0.00", "95.00"},
	} {
		one.cells("F1", lines, r...)
	}
	one.y -= 8
	one.heading(12, "Summary")
	for _, r := range [][]string{
		{"Parts", "675.95"}, {"Body labour, 10.3 hours at 48.00", "494.40"}, {"Paint labour, 6.0 hours at 48.00", "288.00"},
		{"Paint materials", "186.00"}, {"Sublet", "95.00"}, {"Value added tax", "347.87"}, {"Grand total", "2,087.22"},
		{"Less excess", "350.00"}, {"Net cost of repairs", "1,737.22"},
	} {
		one.cells("F1", []float64{60, 330}, r...)
	}
	one.y -= 8
	one.heading(12, "Remarks")
	one.paragraph("The scratch on the right front door is older damage and is not covered by this claim.",
		"Repairs take five working days. A courtesy car is provided by Coombe Bodyworks.",
		"This estimate is valid for 60 days from the date of inspection.")
	return pdfOf("Vehicle damage estimate", "en", one), nil
}

// billPDF returns a two-page bill with a form, tables and notes.
func billPDF() ([]byte, error) {
	one := &pageText{y: 780}
	one.heading(16, "Tarnfell Power")
	one.heading(12, "Electricity bill")
	grid := []float64{60, 165, 310, 415}
	for _, r := range [][]string{
		{"Customer", "Idris Calloway", "Account number", "5520 7741 08"},
		{"Supply address", "9 Quarry Rise, Tarnfell", "Bill number", "TP-118-2025"},
		{"Bill date", "4 April 2025", "Tariff", "Hearth Fixed 24"},
		{"Period", "1 January to 31 March 2025", "Tariff ends", "30 November 2025"},
		{"Meter number", "S71 K 99140", "Supply number", "20 0014 5519 337"},
		{"Payment method", "Direct debit", "Exit fee", "40.00"},
	} {
		one.cells("F1", grid, r...)
	}
	one.y -= 8
	one.heading(12, "Meter readings")
	at := []float64{60, 190, 290, 390, 470}
	one.cells("F2", at, "Register", "1 January", "31 March", "Used kWh", "Type")
	one.cells("F1", at, "Day", "48,117", "49,230", "1,113", "Smart reading")
	one.cells("F1", at, "Night", "21,904", "22,385", "481", "Estimated")
	one.y -= 8
	one.heading(12, "Charges")
	at = []float64{60, 230, 330, 430}
	one.cells("F2", at, "Charge", "Quantity", "Unit price", "Amount")
	for _, r := range [][]string{
		{"Day units", "1,113 kWh", "27.40 p", "304.96"},
		{"Night units", "481 kWh", "13.90 p", "66.86"},
		{"Standing charge", "90 days", "52.10 p", "46.89"},
		{"Discount for direct debit", "", "", "-9.00"},
		{"Value added tax 5%", "", "", "20.49"},
		{"Total charges", "", "", "430.20"},
	} {
		one.cells("F1", at, r...)
	}
	two := &pageText{y: 780}
	two.heading(12, "Your account")
	for _, r := range [][]string{
		{"Balance brought forward", "37.15"}, {"Payments received", "-390.00"}, {"Charges on this bill", "430.20"},
		{"Amount owed", "77.35"},
	} {
		two.cells("F1", []float64{60, 330}, r...)
	}
	two.y -= 8
	two.paragraph("Your monthly payment changes from 130.00 to 138.50 from 1 May 2025.",
		"The amount owed is collected on 18 April 2025 together with the monthly payment.")
	two.heading(12, "How your electricity was made")
	for _, r := range [][]string{{"Source", "Tarnfell Power", "National average"}, {"Wind", "58%", "34%"}, {"Gas", "11%", "33%"}, {"Hydro", "27%", "6%"}, {"Nuclear", "4%", "18%"}} {
		two.cells("F1", []float64{60, 230, 380}, r...)
	}
	two.y -= 8
	two.heading(12, "Help")
	two.paragraph("Power cut: call 105 at any hour. Billing: 01632 960730, Monday to Saturday from 8 to 20.",
		"If a complaint is not settled within eight weeks, you can take it to the ombudsman.",
		"Customers over 75 can join the priority register free of charge.")
	return pdfOf("Electricity bill", "en", one, two), nil
}

// docxOf returns a Word document with headings and lists.
func docxOf(body string) ([]byte, error) {
	return container([]part{
		types("word/document.xml", "wordprocessingml.document.main+xml", "word/styles.xml", "wordprocessingml.styles+xml", "word/numbering.xml", "wordprocessingml.numbering+xml"),
		relations("_rels/.rels", "officeDocument", "word/document.xml"),
		{"word/document.xml", fmt.Sprintf(`<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>`, wordNS, body)},
		relations("word/_rels/document.xml.rels", "styles", "styles.xml", "numbering", "numbering.xml"),
		{"word/styles.xml", wordStyles},
		{"word/numbering.xml", wordNumbering},
	})
}

// instructionDocx returns a German work instruction.
func instructionDocx() ([]byte, error) {
	return docxOf(wordParagraph("Title", "Dienstanweisung Lager 04/2025") +
		wordParagraph("", "Diese Dienstanweisung gilt für alle Beschäftigten der Halberg Logistik am Standort Wörth. Sie ersetzt die Dienstanweisung 02/2023.") +
		wordParagraph("Heading1", "Arbeitszeiten") +
		wordTable([]string{"Schicht", "Beginn", "Ende", "Pause"}, []string{"Früh", "5:30 Uhr", "13:45 Uhr", "9:00 Uhr"}, []string{"Spät", "13:45 Uhr", "22:00 Uhr", "18:00 Uhr"}, []string{"Nacht", "22:00 Uhr", "5:30 Uhr", "2:00 Uhr"}) +
		wordParagraph("", "Der Zuschlag für die Nachtschicht beträgt 25 Prozent, für Sonntage 50 Prozent. Samstagsarbeit muss bis Mittwoch, 12 Uhr, angekündigt werden.") +
		wordParagraph("Heading1", "Staplerverkehr") +
		wordItem("In der Halle gilt Schrittgeschwindigkeit, höchstens 6 km/h; auf dem Hof 12 km/h.") +
		wordItem("Stapler werden nur mit Fahrausweis und nach jährlicher Unterweisung gefahren.") +
		wordItem("Batterien werden nur im Laderaum B2 geladen.") +
		wordItem("Hubhöhen über 8 Meter sind nur mit Kamera erlaubt.") +
		wordParagraph("Heading1", "Gefahrstoffe") +
		wordParagraph("", "Gefahrstoffe der Klassen 3 und 8 stehen getrennt, mit mindestens fünf Metern Abstand. Bei ausgelaufener Flüssigkeit ist zuerst die Schichtleitung zu rufen, dann der Bereich in zehn Metern Umkreis zu sperren.") +
		wordParagraph("Heading2", "Ansprechpartner") +
		wordTable([]string{"Aufgabe", "Name", "Durchwahl"}, []string{"Lagerleitung", "Ottilie Krämer", "310"}, []string{"Brandschutz", "Selim Aydin", "344"}, []string{"Gefahrstoffe", "Jörg Pfleiderer", "352"}, []string{"Betriebsrat", "Hanna Vogt", "377"}) +
		wordParagraph("Heading1", "Inventur") +
		wordParagraph("", "Die Stichtagsinventur findet am 28. November 2025 statt. Gezählt wird zu zweit; Abweichungen über 100 Euro werden ein zweites Mal gezählt. Während der Inventur nimmt das Lager keine Ware an."))
}

// offerDocx returns a German offer with a form and a price table.
func offerDocx() ([]byte, error) {
	return docxOf(wordParagraph("Title", "Angebot K-2025-0092") +
		wordParagraph("", "Küchenstudio Ahrens, Deichstraße 51, 26723 Emden, für Familie Oltmanns, Aurich") +
		wordTable([]string{"Angebotsdatum", "3. März 2025", "Gültig bis", "14. April 2025"}, []string{"Beraterin", "Wiebke Janssen", "Durchwahl", "04921 5550-36"}, []string{"Lieferwoche", "KW 24/2025", "Aufmaß", "17. März 2025"}) +
		wordParagraph("Heading1", "Positionen") +
		wordTable([]string{"Pos.", "Beschreibung", "Menge", "Einzelpreis", "Gesamtpreis"},
			[]string{"1", "Unterschrank 60 cm, Front Seegras matt", "6", "289,00 €", "1.734,00 €"}, []string{"2", "Oberschrank 60 cm, Front Seegras matt", "5", "214,00 €", "1.070,00 €"},
			[]string{"3", "Hochschrank 45 cm mit Auszug", "1", "698,00 €", "698,00 €"}, []string{"4", "Arbeitsplatte Eiche, 38 mm, je Meter", "4,2", "186,00 €", "781,20 €"},
			[]string{"5", "Spüle Granit, 1,5 Becken", "1", "349,00 €", "349,00 €"}, []string{"6", "Induktionskochfeld Tavola 80", "1", "879,00 €", "879,00 €"},
			[]string{"7", "Backofen Tavola P7 mit Pyrolyse", "1", "1.049,00 €", "1.049,00 €"}, []string{"8", "Geschirrspüler Tavola S45", "1", "729,00 €", "729,00 €"}) +
		wordTable([]string{"Summe Waren", "7.289,20 €"}, []string{"Küchenrabatt 8 %", "−583,14 €"}, []string{"Lieferung und Montage", "640,00 €"}, []string{"Angebotssumme brutto", "7.346,06 €"}) +
		wordParagraph("Heading1", "Bedingungen") +
		wordParagraph("", "Bei Auftrag wird eine Anzahlung von 30 Prozent fällig, der Rest bei Lieferung. Die Montage dauert zwei Tage. Strom- und Wasseranschluss sind im Preis enthalten, die Entsorgung der alten Küche nicht; sie kostet 180 Euro.") +
		wordParagraph("", "Änderungen sind bis sechs Wochen vor der Lieferung kostenlos möglich. Auf die Möbel geben wir fünf Jahre, auf die Geräte zwei Jahre Garantie; für 119 Euro je Gerät wird sie auf fünf Jahre verlängert.") +
		wordParagraph("Heading1", "Vorbereitung durch den Kunden") +
		wordItem("Der Raum muss leer und der Estrich trocken sein.") +
		wordItem("Für das Kochfeld ist ein Drehstromanschluss nötig, abgesichert mit dreimal 16 Ampere.") +
		wordItem("Der Zugang muss mindestens 85 cm breit sein."))
}

// stockXlsx returns a Portuguese workbook with two sheets.
func stockXlsx() ([]byte, error) {
	stock := sheetXML([][]any{
		{"Referência", "Produto", "Armazém", "Prateleira", "Quantidade", "Mínimo", "Preço (EUR)"},
		{"VD-1040", "Vidro temperado 4 mm, 60 x 90", "Leiria", "A-07", 118, 40, 37},
		{"VD-1060", "Vidro temperado 6 mm, 60 x 90", "Leiria", "A-08", 52, 40, 49},
		{"VD-1080", "Vidro temperado 8 mm, 80 x 200", "Aveiro", "C-02", 17, 20, 132},
		{"VL-2044", "Vidro laminado 4+4, 100 x 200", "Aveiro", "C-05", 33, 15, 158},
		{"ES-3001", "Espelho redondo 60 cm", "Leiria", "B-11", 64, 25, 29},
		{"ES-3002", "Espelho redondo 80 cm", "Leiria", "B-12", 9, 12, 46},
		{"DB-4100", "Dobradiça para resguardo, cromada", "Leiria", "D-01", 420, 150, 8},
		{"DB-4101", "Dobradiça para resguardo, preta", "Leiria", "D-02", 96, 150, 9},
		{"SL-5005", "Silicone neutro transparente 300 ml", "Aveiro", "E-04", 275, 100, 5},
		{"PX-6010", "Perfil de alumínio em U, 2 m", "Aveiro", "F-01", 140, 60, 11},
	})
	suppliers := sheetXML([][]any{
		{"Fornecedor", "Contacto", "Telefone", "Prazo de entrega (dias)", "Encomenda mínima (EUR)"},
		{"Vidraria Atlântica", "Graça Monteiro", "244 555 081", 12, 500},
		{"Ferragens do Vouga", "Duarte Pimenta", "234 555 017", 6, 150},
		{"Quimiselo", "Inês Salgado", "212 555 093", 4, 80},
	})
	return container([]part{
		types("xl/workbook.xml", "spreadsheetml.sheet.main+xml", "xl/worksheets/sheet1.xml", "spreadsheetml.worksheet+xml",
			"xl/worksheets/sheet2.xml", "spreadsheetml.worksheet+xml"),
		relations("_rels/.rels", "officeDocument", "xl/workbook.xml"),
		{"xl/workbook.xml", fmt.Sprintf(`<workbook xmlns="%s" xmlns:r="%s"><sheets><sheet name="Stock" sheetId="1" r:id="rId1"/><sheet name="Fornecedores" sheetId="2" r:id="rId2"/></sheets></workbook>`,
			sheetN, strings.TrimSuffix(docRel, "/"))},
		relations("xl/_rels/workbook.xml.rels", "worksheet", "worksheets/sheet1.xml", "worksheet", "worksheets/sheet2.xml"),
		{"xl/worksheets/sheet1.xml", stock},
		{"xl/worksheets/sheet2.xml", suppliers},
	})
}
