package longdocs

import (
	"fmt"
	"strings"
)

// Number of companies, and of yearly filings per company.
const (
	companies   = 9
	filingYears = 3
)

// Filings returns annual reports, as web pages and Markdown. Their tables have the same rows in every report.
func Filings(seed uint64) Set {
	w := newWriter("filings", seed)
	for c := range companies {
		for y := range filingYears {
			w.filing(c, 2019+y)
		}
	}
	return w.set
}

var (
	regions    = []string{"North America", "Europe", "Asia Pacific", "Latin America", "Middle East and Africa"}
	segments   = []string{"Industrial", "Consumer", "Public Sector", "Health Care"}
	incomeRows = []string{"Product revenue", "Service revenue", "Cost of products", "Cost of services", "Research and development", "Sales and marketing", "General and administrative", "Restructuring charges", "Interest expense", "Other income (loss), net", "Provision for income taxes", "Net income (loss)"}
	assetRows  = []string{"Cash and cash equivalents", "Marketable securities", "Accounts receivable, net", "Inventories", "Prepaid expenses", "Property and equipment, net", "Operating lease assets", "Goodwill", "Intangible assets, net", "Deferred tax assets", "Other assets"}
	debtRows   = []string{"Accounts payable", "Accrued compensation", "Deferred revenue", "Current portion of debt", "Operating lease liabilities", "Long-term debt", "Deferred tax liabilities", "Retained earnings (deficit)"}
	sites      = []string{"Tulsa", "Malmö", "Gdańsk", "Penang", "Querétaro", "Cork", "Nagoya", "Brno", "Porto", "Fresno", "Ghent", "Hobart", "Izmir", "Lagos", "Mobile", "Natal", "Olbia", "Pune", "Quito", "Reno", "Sibiu", "Turku", "Utica", "Varna", "Waco", "Xalapa", "Yazoo", "Zadar"}
)

// risks holds paragraphs that recur in every filing, as in real filings.
var risks = []string{
	"Our operating results may fluctuate from quarter to quarter because of changes in demand, in the timing of orders and in the mix of products and services that our customers buy, and comparisons between periods may not be meaningful.",
	"We depend on a limited number of suppliers for certain components. If a supplier cannot deliver on time, we may be unable to meet our obligations to customers, and our revenue and reputation would suffer.",
	"Our business is subject to complex and changing laws on privacy, export, employment and the environment. Compliance is costly, and a failure to comply may result in fines, in orders to change our practices and in a loss of customers.",
	"We may not be able to attract and retain the employees whom we need. Competition for engineers is intense, particularly in the cities where our largest sites are located.",
	"An interruption of our information systems, whether by an attack, a failure of equipment or an error, may delay shipments and expose confidential data of our customers and employees.",
	"We hold goodwill and intangible assets from acquisitions. If the expected cash flows of the acquired businesses decline, we may have to record a charge for impairment.",
}

// figures is a table with one value per row and column.
type figures struct {
	caption string
	columns []string
	rows    [][]string // label and values
}

// series makes a table with a value per label and column. Some values are negative.
func (w *writer) series(caption string, columns, labels []string, from, to int) figures {
	t := figures{caption: caption, columns: columns}
	for i, label := range labels {
		row := []string{label}
		for range columns {
			n := from + w.IntN(to-from)
			if strings.Contains(label, "(") && w.IntN(2) == 0 {
				n = -n
			}
			cell := grouped(n)
			if i == 0 {
				cell = "$" + cell
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// filing adds a company's report for one year and questions about its tables.
func (w *writer) filing(c, year int) {
	name, kind := w.company(3*c+1), ".html"
	if (c+year)%2 == 0 {
		kind = ".md"
	}
	out := newLayout(kind, fmt.Sprintf("report-%d-%d", c+1, year))
	ask := func(kind, answer, format string, values ...any) { w.ask(kind, out.name(), answer, format, values...) }
	out.text("FORM 10-K")
	out.text(fmt.Sprintf("Annual report pursuant to section 13 or 15(d) of the Securities Exchange Act of 1934 for the fiscal year ended December 31, %d", year))
	out.text(name)
	out.text("(Exact name of registrant as specified in its charter)")
	for i, section := range []string{"Business", "Risk Factors", "Properties"} {
		out.title(fmt.Sprintf("Item %d. %s", i+1, section))
		for range 10 {
			for _, k := range w.Perm(len(risks)) {
				out.text(risks[k])
			}
		}
	}
	years := []string{fmt.Sprint(year), fmt.Sprint(year - 1)}
	tables := []figures{
		w.series("The following table shows the results of operations (in thousands, except per share data):", years, incomeRows, 1_000, 900_000),
		w.series("Consolidated balance sheets, assets (in millions):", years, assetRows, 100, 90_000),
		w.series("Consolidated balance sheets, liabilities and equity (in millions):", years, debtRows, 100, 90_000),
		w.series("Revenue by region was as follows (in millions):", years, regions, 10, 9_000),
		w.series("Revenue by segment was as follows (in millions):", years, segments, 10, 9_000),
		w.series("Operating income by segment was as follows (in millions):", years, segments, 10, 9_000),
		w.series("Future minimum lease payments are due as follows (in thousands):", []string{"Operating leases", "Finance leases"}, []string{fmt.Sprint(year + 1), fmt.Sprint(year + 2), fmt.Sprint(year + 3), fmt.Sprint(year + 4), "Thereafter", "Total payments"}, 50, 60_000),
		w.series("Properties by site (area in thousands of square feet, rent in thousands of dollars):", []string{"Area", "Annual rent", "Employees"}, sites, 5, 4_000),
		w.series("Stock options by price range (in thousands, except prices):", []string{"Outstanding", "Exercisable", "Average price"}, []string{"$1 to $5", "$6 to $10", "$11 to $20", "$21 to $40"}, 10, 8_000),
	}
	out.title("Item 8. Financial Statements")
	for i, t := range tables {
		out.title(fmt.Sprintf("Note %d", i+1))
		out.text(risks[w.IntN(len(risks))])
		out.table(t.caption, append([][]string{append([]string{""}, t.columns...)}, t.rows...))
		out.text(risks[w.IntN(len(risks))])
	}
	w.figureQuestions(name, year, tables, ask)
	w.set.Documents = append(w.set.Documents, out.document())
}

// figureQuestions asks for single values in the tables, by row, column or both. No answer is likely to occur in another
// table.
func (w *writer) figureQuestions(name string, year int, tables []figures, ask func(kind, answer, format string, values ...any)) {
	cell := func(t, column int) (label, value, where string) {
		row := tables[t].rows[1+w.IntN(len(tables[t].rows)-1)]
		return strings.ToLower(row[0]), strings.Trim(row[1+column], "$()"), tables[t].columns[column]
	}
	label, value, _ := cell(0, 0)
	ask("cell, statement", value, "What was the %s of %s in %d?", label, short(name), year)
	label, value, _ = cell(1, 0)
	ask("cell, statement", value, "What were the %s of %s at the end of %d?", label, name, year)
	label, value, at := cell(3, 1)
	ask("cell, by region", value, "How much revenue did %s have in %s in %s, according to the %d report?", short(name), label, at, year)
	t := 4 + w.IntN(2)
	label, value, _ = cell(t, 0)
	ask("cell, twin tables", value, "What was the %s of the %s segment of %s in %d?", []string{"revenue", "operating income"}[t-4], label, short(name), year)
	k := w.IntN(2)
	row := tables[6].rows[w.IntN(4)]
	ask("cell, lease payments", strings.Trim(row[1+k], "$()"), "Which minimum payments for %s are due in %s at %s, as of %d?", strings.ToLower(tables[6].columns[k]), row[0], short(name), year)
	label, value, _ = cell(7, 1)
	ask("row of a long table", value, "What is the annual rent of the %s site of %s in its %d annual report?", label, short(name), year)
	label, value, _ = cell(7, 2)
	ask("row of a long table", value, "How many employees does %s have in %s (report for %d)?", short(name), label, year)
	label, value, _ = cell(7, 0)
	ask("row of a captioned long table", value, "In the list of properties by site in thousands of square feet, which area does %s of %s have, report of %d?", label, short(name), year)
	row = tables[8].rows[w.IntN(4)]
	ask("row, captioned", strings.Trim(row[1], "$()"), "How many stock options of %s are outstanding in the price range %s, %d?", short(name), row[0], year)
}
