package chunk

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

func TestPartiesAndDateAreTheSubjectOfAContract(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		blocks []domain.Block
		want   string
	}{
		"parties with abbreviations": {
			[]domain.Block{heading(1, "LEASE"), para("This Lease (this “Lease”) is made as of March 3, 2021 (the “Effective Date”) by and between Acme Holdings, Inc., a Delaware corporation (the “Landlord”), and Bolt LLC, with its office in Leeds (the “Tenant”).")},
			"Acme Holdings, Inc.; Bolt LLC; March 3, 2021",
		},
		"three parties": {
			[]domain.Block{para("Agreement among Acme plc (“Seller”), Bolt LLC (“Buyer”) and Cord L.P. (“Agent”), dated 4 May 2019.")},
			"Acme plc; Bolt LLC; Cord L.P.; 4 May 2019",
		},
		"a German contract": {
			[]domain.Block{para("Vertrag vom 3. Mai 2020 zwischen der"), para("Zwischen Acme GmbH, Musterstraße 1, Berlin (nachfolgend „Auftraggeber“) und Bolt AG (nachfolgend „Auftragnehmer“), geschlossen am 03.05.2020")},
			"Acme GmbH; Bolt AG; 03.05.2020",
		},
		"a filing": {
			[]domain.Block{para("FORM 10-K"), para("For the fiscal year ended December 31, 2021"), para("Galaxy Gaming, Inc."), para("(Exact name of registrant as specified in its charter)")},
			"Galaxy Gaming, Inc.; December 31, 2021",
		},
		"a filing with the name in the same paragraph": {
			[]domain.Block{para("GALAXY GAMING, INC. (Exact name of registrant as specified in its charter)"), para("fiscal year ended June 30, 2020")},
			"GALAXY GAMING, INC.; June 30, 2020",
		},
		"not one party":                {[]domain.Block{para("An agreement between Acme plc (“Seller”) and nobody else.")}, ""},
		"not ordinary text":            {[]domain.Block{para("The distance between Paris (the capital) and Lyon (the “second city”) is 465 km.")}, ""},
		"not after the first pages":    {[]domain.Block{para(strings.Repeat("Long text. ", 900)), para("between Acme plc (“Seller”) and Bolt LLC (“Buyer”)")}, ""},
		"not an empty document":        {nil, ""},
		"not a registrant without one": {[]domain.Block{para("(Exact name of registrant as specified in its charter)")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := subject(test.blocks); got != test.want {
				t.Errorf("the subject is %q, want %q", got, test.want)
			}
		})
	}
}

func TestEveryChunkOfAContractNamesItsParties(t *testing.T) {
	t.Parallel()
	doc := &domain.Document{Title: "agreement-1", Blocks: []domain.Block{
		para("Made between Acme plc (“Seller”) and Bolt LLC (“Buyer”) on 4 May 2019."), heading(1, "Price"), para(clause("It is fixed")), para(clause("It is due")),
	}}
	for i, c := range mustChunk(t, doc) {
		if !strings.HasPrefix(c.Context, "agreement-1 > Acme plc; Bolt LLC; 4 May 2019") {
			t.Errorf("chunk %d has context %q", i, c.Context)
		}
		if i > 0 && c.Heading != "Price" {
			t.Errorf("chunk %d has heading %q", i, c.Heading)
		}
	}
}
