package table

import (
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/wordset"
)

// sheetAbove returns the number of rows with properties, including title rows, above a table of items. It returns 0 if
// there are none.
func (w *Writer) sheetAbove(rows []Row, cells [][]string) int {
	if w.IsHeader || w.Plain {
		return 0
	}
	return PropertyRows(cells, func(i int) bool { return rows[i].Header }, func(i int) bool { return rows[i].hasWideCell() })
}

// PropertyRows returns how many leading rows hold property-value pairs, including title rows. If a table of items
// follows, only the rows above it count. If no table follows, either all rows count, provided that any row holds
// several pairs, or none do. `header` reports whether a row is marked as a header, and `wide` whether a row has merged
// cells next to other cells.
func PropertyRows(cells [][]string, header, wide func(row int) bool) int {
	n := slices.IndexFunc(cells, func(r []string) bool { return Filled(r) > 2 && !labelledCells(r) })
	first := -1 // column of the first name in the table of items
	switch {
	case n == 0 || n < 0 && !slices.ContainsFunc(cells, labelledCells):
		return 0
	case n < 0:
		n = len(cells)
	default:
		if below := cells[n:]; !header(n) && (len(below) < 2 || !namesColumns(below[0]) || Filled(below[1])*5 < Filled(below[0])*2) {
			return 0
		}
		first = slices.IndexFunc(cells[n], func(c string) bool { return c != "" })
	}
	labelled, seen := 0, map[string]bool{}
	c := PairColumns{-1, -1}
	for i, r := range cells[:n] {
		switch {
		case header(i), first >= 0 && (first >= len(r) || r[first] == "") && groupedRows(cells[i:]) > 0:
			return 0 // the row names columns or column groups
		case colonCells(r):
			labelled += 2
			continue
		case labelledCells(r):
			labelled++
			continue
		case Filled(r) < 2:
			continue // a title
		}
		pair, ok := pairIn(r)
		label, _ := pair.cells(r)
		if !ok || c.label >= 0 && pair.label != c.label || !isLabel(label) || seen[label] || wide(i) && !isProperty(label) {
			return 0
		}
		c, seen[label] = pair, true
		if labelled++; strings.HasSuffix(label, ":") {
			labelled++
		}
	}
	if labelled < 2 {
		return 0
	}
	return n
}

// hasWideCell reports whether a cell spans several columns next to other cells. A title across the whole row doesn't
// count.
func (r *Row) hasWideCell() bool {
	return Filled(r.Cells) > 1 && slices.ContainsFunc(r.Merged, func(m Merged) bool { return m.ColumnSpan > 1 && m.Column > 0 })
}

// pairIn returns the two columns with text in a row. `ok` is false unless there are exactly two.
func pairIn(row []string) (c PairColumns, ok bool) {
	c = PairColumns{-1, -1}
	for i, cell := range row {
		switch {
		case cell == "":
		case c.label < 0:
			c.label = i
		case c.value < 0:
			c.value = i
		default:
			return c, false
		}
	}
	return c, c.value >= 0
}

// labelledCells reports whether a row holds several label-value pairs, with labels that end in a colon or are common
// property names.
func labelledCells(row []string) bool {
	return colonCells(row) || alternatesLabels(row, func(s string) bool { return isLabel(s) && isProperty(s) })
}

func colonCells(row []string) bool { return alternatesLabels(row, IsColonLabel) }

// alternatesLabels reports whether a row consists of several labels, each followed by a non-label.
func alternatesLabels(row []string, label func(string) bool) bool {
	labels, expect := 0, true
	for _, cell := range row {
		if cell == "" {
			continue
		}
		if label(cell) != expect {
			return false
		}
		if expect {
			labels++
		}
		expect = !expect
	}
	return labels > 1 && expect
}

// IsColonLabel reports whether a cell is a label that ends in a colon.
func IsColonLabel(s string) bool {
	return (strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")) && isLabel(strings.TrimRight(s, ":："))
}

// IsPropertySheet reports whether the rows are, or start with, property-value pairs, one or two per row.
func (w *Writer) IsPropertySheet(rows []Row) bool {
	cells := lists.Map(rows, func(r Row) []string { return r.Cells })
	c, ok := PairsOf(cells)
	return ok && (c.colons(cells) || labelsMarked(rows, c) || c.hasKnownLabels(cells)) || w.isDoubleSheet(rows) || w.sheetAbove(rows, cells) > 0
}

// isDoubleSheet reports whether each row holds two property-value pairs, with labels that end in colons, are bold, or
// are common property names.
func (w *Writer) isDoubleSheet(rows []Row) bool {
	const fewest, columns = 2, 4
	var at []int // columns of label, value, label and value
	seen := map[string]bool{}
	double, labels, colons, known, marked := 0, 0, 0, 0, 0
	if w.IsHeader || slices.ContainsFunc(rows, func(r Row) bool { return r.Header }) {
		return false
	}
	for _, r := range rows {
		for k, c := range r.Cells {
			if c != "" && !slices.Contains(at, k) {
				at = append(at, k)
			}
		}
	}
	if slices.Sort(at); len(at) != columns {
		return false
	}
	for _, r := range rows {
		n := 0
		for k := 0; k < columns; k += 2 {
			label, value := PairColumns{at[k], at[k+1]}.cells(r.Cells)
			if label == "" && value == "" {
				continue
			}
			if !isLabel(strings.TrimRight(label, ":：")) || seen[label] {
				return false
			}
			seen[label] = true
			n++
			if labels++; IsColonLabel(label) {
				colons++
			}
			if isProperty(label) && !isProperty(value) {
				known++
			}
			if r.isMarked(at[k]) && !r.isMarked(at[k+1]) {
				marked++
			}
		}
		if n > 1 {
			double++
		}
	}
	return double >= fewest && (colons*2 > labels || marked == labels || known*3 >= labels*2)
}

// PairsLine formats a row of properties as "label: value" pairs, separated by "; ".
func PairsLine(row []string) string {
	var b strings.Builder
	label := ""
	if Filled(row)%2 > 0 {
		return strings.Join(row, "\t")
	}
	for _, cell := range row {
		switch {
		case cell == "":
		case label == "":
			label = cell
		default:
			if b.Len() > 0 {
				b.WriteString("; ")
			}
			b.WriteString(PairLine(label, cell))
			label = ""
		}
	}
	return b.String()
}

// hasKnownLabels reports whether most labels are property names common in forms and data sheets. It returns false if
// the first row is a header for the value column.
func (c PairColumns) hasKnownLabels(rows [][]string) bool {
	hits, all := 0, 0
	for i, r := range rows {
		label, value := c.cells(r)
		if i == 0 && namesValues(value) {
			return false
		}
		if value == "" {
			continue
		}
		all++
		if isProperty(label) {
			hits++
		}
	}
	return hits >= 2 && hits*2 >= all
}

// KnownFirst is stricter than hasKnownLabels: the first row's label must be a common property name, too. It is used for
// tables whose first row looks like a header only because of its style.
func (c PairColumns) KnownFirst(rows [][]string) bool {
	label, _ := c.cells(rows[0])
	return isProperty(label) && c.hasKnownLabels(rows)
}

// isProperty reports whether a label is a common property name.
func isProperty(label string) bool {
	label = strings.Trim(strings.ToLower(label), ":：. ")
	words := strings.FieldsFunc(label, func(r rune) bool { return strings.ContainsRune(" -_/().’'#", r) })
	if len(words) > 4 {
		return false
	}
	if propertyWords[label] {
		return true
	}
	for _, word := range words {
		if propertyWords[word] {
			return true
		}
		for _, end := range propertyEnds {
			if len(word) > len(end) && strings.HasSuffix(word, end) {
				return true
			}
		}
	}
	return false
}

// propertyEnds are endings of compound property names.
var propertyEnds = []string{"nummer", "datum", "adresse", "betrag", "anschrift", "idnr", "partner", "frist", "bezeichnung", "番号", "编号", "日期", "电话", "地址", "名称", "金额"}

// propertyWords are words for properties of customers, orders, documents, persons and products.
var propertyWords = wordset.Of(`
	customer client supplier vendor contact name address street city town zip postcode country phone telephone tel mobile fax email mail website
	date due issued version status author owner project reference ref order invoice number vat tax iban bic account bank currency total subtotal
	amount payment terms delivery department manager subject language weight mass height width length depth colour color material voltage power
	model manufacturer brand tenant landlord deposit premium policy holder serial sku category warranty id type born age gender nationality employer profession start end duration location
	mieter vermieter kaution laufzeit baujahr bezeichnung kunde kundin auftraggeber lieferant ansprechpartner vorname nachname anschrift straße strasse ort stadt plz postleitzahl telefon mobil webseite
	datum fällig autor verfasser projekt referenz bestellung auftrag rechnung nummer nr ust umsatzsteuer steuer konto währung summe betrag gesamt
	zahlung zahlungsziel lieferung abteilung leiter betreff sprache gewicht masse höhe breite länge tiefe farbe spannung leistung modell hersteller marke
	kategorie garantie typ geburtsdatum beruf beginn ende dauer standort
	locataire bailleur caution désignation année raison fournisseur nom prénom adresse rue ville pays téléphone tél courriel échéance statut auteur projet référence commande facture numéro n° tva siret
	siren compte banque devise montant paiement livraison service responsable titre objet langue poids hauteur largeur longueur profondeur couleur matière
	tension puissance modèle fabricant marque catégorie garantie naissance âge début fin durée lieu
	cliente proveedor contacto nombre apellido dirección calle ciudad país teléfono móvil correo fecha vencimiento versión estado proyecto referencia
	pedido factura número nif cif iva cuenta banco moneda importe pago entrega departamento asunto idioma peso altura anchura longitud modelo
	fabricante marca categoría garantía tipo
	fornitore contatto nome cognome indirizzo città telefono cellulare data scadenza versione stato autore progetto riferimento ordine fattura numero
	conto banca valuta totale importo pagamento consegna reparto titolo oggetto lingua altezza larghezza lunghezza colore materiale modello
	produttore categoria garanzia
	klant leverancier naam adres straat telefoon vervaldatum versie referentie factuur btw rekening bedrag totaal gewicht kleur
	fornecedor endereço morada cidade telefone versão projeto fatura conta valor
	klient dostawca nazwa imię nazwisko miasto kraj termin zamówienie faktura numer nip kwota razem
	заказчик клиент поставщик имя фамилия адрес город страна телефон дата срок версия статус автор проект номер инн счёт счет сумма итого
	שם כתובת טלפון תאריך לקוח ספק דוא"ל עיר סכום חשבונית מספר הזמנה
	الاسم العنوان الهاتف التاريخ العميل المورد المدينة المبلغ الفاتورة الرقم البريد الطلب
	客户 供应商 姓名 地址 城市 国家 电话 日期 版本 状态 作者 项目 编号 金额 顧客 住所 氏名 電話 電話番号 日付 番号 合計 会社名`)
