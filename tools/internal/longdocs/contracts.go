package longdocs

import (
	"fmt"
	"strings"
)

// Number of contracts, and number of contracts with many statements of work.
const (
	contracts     = 36
	longContracts = 6
	longWork      = 110 // statements of work per long contract
	shortWork     = 4
)

// clause is a clause that every contract has. Each %s in its text stands for a value that differs between contracts.
type clause struct {
	title    string
	text     string
	values   []string
	question string // about the clause, without naming the contract
}

// article is a group of clauses.
type article struct {
	title   string
	clauses []clause
}

var articles = []article{
	{"Services", []clause{
		{"Scope", "The Supplier shall perform the Services with the skill and care that a prudent provider of similar services would use, and shall assign not fewer than %s qualified persons to their performance at all times during the Term.", []string{"three", "five", "eight", "twelve", "fifteen", "twenty"}, "How many qualified persons must be assigned to the services"},
		{"Changes", "Either party may propose a change to the Services in writing. The other party shall respond within %s business days after it receives the proposal, and no change takes effect until both parties have signed it.", []string{"five", "seven", "nine", "ten", "fourteen"}, "How long may a party take to respond to a proposed change of the services"},
		{"Subcontractors", "The Supplier may engage subcontractors only with prior written consent, which is deemed to be given if the Customer does not object within %s days. The Supplier remains liable for the acts of its subcontractors as for its own.", []string{"ten", "twelve", "fifteen", "twenty-one", "thirty"}, "After how many days is consent to a subcontractor deemed to be given"},
	}},
	{"Fees and Payment", []clause{
		{"Invoices", "The Supplier shall invoice the Fees monthly in arrears. Each undisputed invoice is payable within %s days after receipt by bank transfer in the currency of the invoice, without set-off except as this Agreement permits.", []string{"twenty", "thirty", "forty-five", "sixty", "seventy-five"}, "Within how many days are invoices payable"},
		{"Late Payment", "Amounts that are not paid when due bear interest at the rate of %s percent per month from the due date until payment, or at the highest rate that applicable law permits, whichever is lower.", []string{"0.5", "0.75", "1.0", "1.25", "1.5", "2.0"}, "What interest accrues on late payments"},
		{"Expenses", "The Customer shall reimburse reasonable expenses for travel and lodging that it has approved in advance, up to an aggregate of $%s in each Contract Year, against receipts.", nil, "Up to which amount are travel expenses reimbursed"},
		{"Audit", "The Supplier shall keep accurate records of the Fees for %s years, and the Customer may audit these records once in each Contract Year upon reasonable notice during normal business hours.", []string{"two", "three", "four", "five", "six", "seven"}, "For how many years must records of the fees be kept"},
	}},
	{"Confidentiality", []clause{
		{"Duties", "Each party shall keep the Confidential Information of the other in confidence, shall use it only for the purposes of this Agreement, and shall protect it with no less than reasonable care.", nil, ""},
		{"Duration", "The duties in this Article survive the expiration or termination of this Agreement for %s years, and for trade secrets for as long as they remain secret under applicable law.", []string{"two", "three", "five", "six", "seven", "ten"}, "For how long do the duties of confidentiality survive"},
		{"Return of Materials", "Upon written request, the receiving party shall return or destroy all Confidential Information within %s days and shall certify in writing that it has done so.", []string{"ten", "fifteen", "twenty", "thirty", "forty"}, "How soon must confidential material be returned or destroyed"},
	}},
	{"Intellectual Property", []clause{
		{"Ownership", "Each party retains all right, title and interest in its Background Technology. All Deliverables are owned by the %s upon payment of the Fees for them.", []string{"Customer", "Supplier"}, "Which party owns the deliverables"},
		{"License", "The Supplier grants a non-exclusive license to use the Background Technology that is embedded in the Deliverables at not more than %s sites.", []string{"two", "four", "six", "nine", "twenty-five", "forty"}, "At how many sites may the background technology be used"},
	}},
	{"Warranties", []clause{
		{"Warranty Period", "The Supplier warrants that each Deliverable will conform to its specification in all material respects for a period of %s months after acceptance.", []string{"three", "six", "nine", "twelve", "eighteen", "twenty-four"}, "How long is the warranty period of deliverables"},
		{"Remedy", "If a Deliverable does not conform, the Supplier shall correct it at its own expense within %s days after notice or refund the Fees that were paid for it.", []string{"fifteen", "twenty", "thirty", "forty-five", "sixty"}, "Within how many days must a defective deliverable be corrected"},
		{"Disclaimer", "Except as stated in this Article, neither party makes any warranty, express or implied, including any implied warranty of merchantability or fitness for a particular purpose.", nil, ""},
	}},
	{"Indemnification and Liability", []clause{
		{"Indemnity", "The Supplier shall indemnify the Customer against claims of third parties that the Deliverables infringe their rights, provided that the Customer gives notice of the claim within %s days.", []string{"ten", "fifteen", "twenty", "thirty", "forty"}, "Within how many days must notice of an infringement claim be given"},
		{"Limit of Liability", "Except for breach of confidentiality and for willful misconduct, the aggregate liability of either party under this Agreement does not exceed $%s, regardless of the form of action.", nil, "What is the limit of liability"},
		{"Insurance", "The Supplier shall maintain commercial general liability insurance of not less than $%s for each occurrence with a reputable insurer throughout the Term.", nil, "How much commercial general liability insurance is required"},
	}},
	{"Term and Termination", []clause{
		{"Initial Term", "This Agreement begins on the Effective Date and continues for an initial term of %s years, and it renews for successive terms of one year unless either party objects.", []string{"two", "three", "four", "five", "six", "eight"}, "How long is the initial term"},
		{"Termination for Convenience", "Either party may terminate this Agreement without cause by giving the other not less than %s days' prior written notice.", []string{"thirty", "forty-five", "sixty", "ninety", "one hundred twenty"}, "How much notice is required to terminate without cause"},
		{"Termination for Cause", "Either party may terminate this Agreement if the other commits a material breach and does not cure it within %s days after it receives written notice of the breach.", []string{"ten", "fifteen", "twenty", "thirty", "forty-five", "sixty"}, "How long is the cure period for a material breach"},
		{"Transition", "Upon termination the Supplier shall provide transition assistance for up to %s months at the rates that were in effect on the date of termination.", []string{"two", "three", "four", "six", "nine", "twelve"}, "For how many months is transition assistance provided"},
	}},
	{"General", []clause{
		{"Governing Law", "This Agreement is governed by the laws of %s, without regard to its rules on the conflict of laws.", []string{"the State of Delaware", "the State of New York", "England and Wales", "the Province of Ontario", "the State of Texas", "Singapore", "the Netherlands"}, "Which law governs"},
		{"Assignment", "Neither party may assign this Agreement without the prior written consent of the other, except to an affiliate that has net assets of at least $%s.", nil, "What net assets must an affiliate have for an assignment without consent"},
		{"Notices", "Notices must be in writing and are effective %s days after they are sent by registered mail to the address that the other party has named.", []string{"two", "three", "four", "five", "six"}, "When are notices by registered mail effective"},
		{"Force Majeure", "Neither party is liable for a delay that events beyond its reasonable control cause. If the delay exceeds %s days, the other party may terminate the affected Services.", []string{"thirty", "forty-five", "sixty", "seventy-five", "ninety"}, "After how long a delay by force majeure may services be terminated"},
		{"Entire Agreement", "This Agreement contains the entire agreement of the parties on its subject and supersedes all earlier agreements, whether written or oral.", nil, ""},
	}},
}

// terms are defined in every contract, with a different value in each.
var terms = []struct{ term, text string }{
	{"Net Revenue", "means the gross amount invoiced by the Supplier for the Services, less refunds, taxes and discounts that exceed $%s in a Contract Year"},
	{"Change of Control", "means any transaction by which a person acquires more than %s percent of the voting shares of a party"},
	{"Business Day", "means a day on which banks in the city of %s are open for business"},
	{"Key Personnel", "means the %s persons named in the applicable Statement of Work"},
	{"Service Credit", "means a reduction of the Fees by %s percent for each full hour in which the Services are not available"},
}

var (
	kinds  = []string{"Master Services Agreement", "Supply Agreement", "License and Support Agreement", "Outsourcing Agreement", "Distribution Agreement", "Development Agreement"}
	cities = []string{"Boston", "Rotterdam", "Leeds", "Austin", "Toronto", "Osaka", "Lyon", "Dublin"}
	works  = []string{"data migration", "payroll processing", "network monitoring", "warehouse automation", "customer support", "laboratory testing", "fleet maintenance", "document archiving", "quality inspection", "catalogue photography", "route planning", "energy metering"}
)

// Contracts returns contracts of up to 300,000 characters, as text, web pages and Markdown.
func Contracts(seed uint64) Set {
	w := newWriter("contracts", seed)
	for i := range contracts {
		w.contract(i)
	}
	return w.set
}

// contract adds a contract and questions about it.
func (w *writer) contract(i int) {
	kind, supplier, customer := kinds[i%len(kinds)], w.company(2*i), w.company(2*i+1)
	date := w.date(2005 + i/2)
	out := newLayout([]string{".txt", ".html", ".md"}[i%3], fmt.Sprintf("agreement-%02d", i+1))
	ask := func(kind, text, format string, values ...any) {
		w.ask(kind, out.name(), firstSentence(text), format, values...)
	}
	about := "the " + strings.ToLower(kind) + " between " + supplier + " and " + customer
	if i%2 == 1 {
		about = "the contract of " + short(customer) + " with " + short(supplier)
	}

	out.title(strings.ToUpper(kind))
	out.text(fmt.Sprintf("This %s (this “Agreement”) is entered into as of %s (the “Effective Date”) by and between %s, a corporation with its principal office in %s (the “Supplier”), and %s, with its principal office in %s (the “Customer”).",
		kind, date, supplier, w.pick(cities), customer, w.pick(cities)))
	out.text("The parties agree as follows:")

	out.article(1, "Definitions")
	for k, t := range terms {
		value := w.pick([]string{"10", "15", "20", "25", "30", "40", "50"})
		switch t.term {
		case "Business Day":
			value = w.pick(cities)
		case "Net Revenue":
			value = w.amount(10_000, 900_000)
		}
		text := "“" + t.term + "” " + fmt.Sprintf(t.text, value) + "."
		out.clause(fmt.Sprintf("1.%d", k+1), "", text)
		if (i+k)%3 == 0 {
			ask("definition", text, "What does %s mean in %s?", t.term, about)
		}
	}
	type placed struct {
		number, title, text, question string
	}
	var all []placed
	for a, article := range articles {
		out.article(a+2, article.title)
		for c, clause := range article.clauses {
			value := w.amount(50_000, 9_000_000)
			if clause.values != nil {
				value = w.pick(clause.values)
			}
			text := clause.text
			if strings.Contains(text, "%s") {
				text = fmt.Sprintf(text, value)
			}
			number := fmt.Sprintf("%d.%d", a+2, c+1)
			out.clause(number, clause.title, text)
			if clause.question != "" {
				all = append(all, placed{number, clause.title, text, clause.question})
			}
		}
	}
	for n, k := range w.Perm(len(all))[:4] {
		p := all[k]
		switch n {
		case 0:
			ask("section number", p.text, "What does section %s of %s say?", p.number, about)
		case 1:
			ask("clause, contract by date", p.text, "%s under the %s dated %s?", p.question, strings.ToLower(kind), date)
		default:
			ask("clause of a party", p.text, "%s in %s?", p.question, about)
		}
	}
	w.statements(i, out, about)
	w.amendment(i, kind, supplier, customer, date, all[w.IntN(len(all))].number)
	w.set.Documents = append(w.set.Documents, out.document())
}

// statements adds statements of work, all with the same sections but different values.
func (w *writer) statements(i int, out *layout, about string) {
	ask := func(kind, text, format string, values ...any) {
		w.ask(kind, out.name(), firstSentence(text), format, values...)
	}
	count := shortWork
	if i < longContracts {
		count = longWork
	}
	for n := range count {
		work, city := w.pick(works), w.pick(cities)
		out.title(fmt.Sprintf("STATEMENT OF WORK NO. %d", n+1))
		out.text(fmt.Sprintf("This Statement of Work describes %s for the site in %s. Capitalised terms have the meanings that the Agreement gives them.", work, city))
		days, fee, lead := 5+w.IntN(400), w.amount(20_000, 800_000), w.pick(names)+" "+w.pick(names)
		acceptance := fmt.Sprintf("The Customer shall test each Deliverable within %d days after delivery. A Deliverable is accepted if the Customer does not reject it in writing within this period, stating each respect in which it does not conform to its specification.", days)
		fees := fmt.Sprintf("The Fees for the work under this Statement of Work are $%s, payable in equal monthly instalments, and include all materials, licenses and taxes other than value added tax.", fee)
		manager := fmt.Sprintf("The project manager of the Supplier is %s, who reports to the steering committee every second week on progress, risks and open decisions, and who may be replaced only with consent.", lead)
		level := fmt.Sprintf("The Supplier shall restore a failed service within %d hours after the failure is reported, on every day of the week. For each further hour a Service Credit is due.", 1+w.IntN(900))
		out.clause("", "Acceptance", acceptance)
		out.clause("", "Fees", fees)
		out.clause("", "Project Manager", manager)
		out.clause("", "Service Level", level)
		out.text("The steering committee meets on the first working day of each month and whenever one of its members asks for a meeting. It decides by consensus; if it cannot agree, the matter is referred to the senior management of both parties, who shall meet in person within ten working days and shall act in good faith to find a solution that keeps the schedule of the remaining work.")
		if n%7 != i%7 || n >= 40 {
			continue
		}
		switch n % 3 {
		case 0:
			ask("statement of work", acceptance, "How long is the acceptance period under Statement of Work No. %d of %s?", n+1, about)
		case 1:
			ask("statement of work", fees, "What are the fees under Statement of Work No. %d of %s?", n+1, about)
		default:
			ask("statement of work", manager, "Which project manager does Statement of Work No. %d of %s name?", n+1, about)
		}
		if out.kind == ".txt" {
			ask("page", level, "What service level is agreed on page %d of %s?", out.page, about)
		}
	}
}

// amendment adds a short document that changes a section of a contract.
func (w *writer) amendment(i int, kind, supplier, customer, date, section string) {
	if i%3 != 0 {
		return
	}
	out := newLayout(".txt", fmt.Sprintf("amendment-%02d", i+1))
	out.title("AMENDMENT NO. 1")
	out.text(fmt.Sprintf("This Amendment No. 1 amends the %s dated %s by and between %s (the “Supplier”) and %s (the “Customer”).", kind, date, supplier, customer))
	text := fmt.Sprintf("Section %s of the Agreement is deleted in its entirety and replaced by the terms in Exhibit %c to this Amendment, with effect from %s.", section, 'A'+rune(w.IntN(6)), w.date(2022))
	out.clause("1.", "Change", text)
	out.clause("2.", "No Other Changes", "Except as amended, all terms of the Agreement remain in full force and effect.")
	w.ask("amendment", out.name(), text, "From when does the amendment between %s and %s replace section %s?", short(supplier), short(customer), section)
	w.set.Documents = append(w.set.Documents, out.document())
}

// firstSentence returns a clause's first sentence, which states the value. Chunk boundaries never split a sentence.
func firstSentence(text string) string {
	if end := strings.Index(text, ". "); end >= 0 {
		return text[:end+1]
	}
	return text
}

// short returns a company's short name.
func short(company string) string { return strings.Join(strings.Fields(company)[:2], " ") }
