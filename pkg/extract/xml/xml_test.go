package xml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

const (
	docBook = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "http://www.oasis-open.org/docbook/xml/4.5/docbookx.dtd" [<!ENTITY gate "the north gate">]>
<book xmlns="http://docbook.org/ns/docbook" xmlns:xlink="http://www.w3.org/1999/xlink" xml:lang="en">
  <info><title>Gate manual</title><author><personname><firstname>Ann</firstname><surname>Oake</surname></personname></author><pubdate>2024-05-01</pubdate><legalnotice><para>No copies.</para></legalnotice></info>
  <chapter><title>Opening<indexterm><primary>hidden</primary></indexterm></title>
    <para>The gate opens at <emphasis>nine</emphasis>, caf&eacute; time<footnote><para>Except on Sundays.</para></footnote>. See <link xlink:href="https://gate.example/">the
      plan</link>.<itemizedlist><listitem><para>North</para></listitem><listitem><para>South</para><para>It sticks.</para></listitem></itemizedlist></para>
    <section><title>Locks</title>
      <orderedlist><listitem><para>Turn left.</para></listitem><listitem><para>Push.</para></listitem></orderedlist>
      <variablelist><varlistentry><term>bolt</term><term>bar</term><listitem><para>It closes the gate.</para></listitem></varlistentry></variablelist>
      <programlisting>open(
  "gate")</programlisting>
      <note><title>Note</title><para>Oil it.</para></note>
      <table><title>Prices</title><tgroup cols="3"><thead><row><entry>Part</entry><entry>Size</entry><entry>Price</entry></row></thead><tbody>
        <row><entry morerows="1">Bolt</entry><entry>small</entry><entry>5</entry></row><row><entry>large</entry><entry>7</entry></row></tbody></tgroup></table>
    </section>
  </chapter>
</book>`

	dita = `<?xml version="1.0" encoding="utf-8"?><!DOCTYPE task PUBLIC "-//OASIS//DTD DITA Task//EN" "task.dtd">
<task id="t" xml:lang="en-us"><title>Oil the gate</title><shortdesc>Oil it twice a year.</shortdesc>
<prolog><author>Bo Reed</author><critdates><created date="2023-02-03"/></critdates><metadata><keywords><keyword>oil</keyword></keywords></metadata></prolog>
<taskbody><prereq>You need oil.</prereq><steps><step><cmd>Open the lid.</cmd><info>It is heavy.</info></step><step><cmd>Pour <uicontrol>slowly</uicontrol>.</cmd></step></steps>
<section><simpletable><sthead><stentry>Month</stentry><stentry>Oil</stentry><stentry>Cost</stentry></sthead><strow><stentry>May</stentry><stentry>1 l</stentry><stentry>5</stentry></strow></simpletable></section></taskbody></task>`

	jats = `<?xml version="1.0"?><article xmlns:xlink="http://www.w3.org/1999/xlink" xml:lang="en"><front><journal-meta><journal-title>Gates</journal-title></journal-meta>
<article-meta><article-id>1</article-id><title-group><article-title>On gates</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Oake</surname><given-names>Ann</given-names></name></contrib></contrib-group>
<pub-date pub-type="epub"><day>3</day><month>2</month><year>2021</year></pub-date><abstract><p>Gates are old.</p></abstract><kwd-group><kwd>gates</kwd><kwd>iron</kwd></kwd-group></article-meta></front>
<body><sec><label>1</label><title>Methods</title><p>We measured 12 gates [<xref rid="b1">1</xref>].</p><fig><label>Figure 1.</label><caption><p>A gate.</p></caption><graphic xlink:href="a.png"/></fig></sec></body>
<back><ref-list><title>References</title><ref id="b1"><label>1</label><element-citation><person-group><name><surname>Roe</surname><given-names>B</given-names></name></person-group><article-title>Iron</article-title><year>1999</year></element-citation></ref></ref-list></back></article>`

	tei = `<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>The gate</title><author>Ann Oake</author></titleStmt></fileDesc><profileDesc><abstract><p>It is about gates.</p></abstract></profileDesc></teiHeader>
<text><body><div><head>First song</head><lg><l>The gate was <hi>shut</hi></l><l>all night</l></lg><p>A word about it.</p></div></body></text></TEI>`

	records = `<?xml version="1.0" encoding="ISO-8859-1"?>
<orders xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="orders.xsd" date="2024-01-02">
 <customer>Caf` + "\xe9" + ` Nord</customer>
 <order id="7"><item sku="a1">Bolt</item><count>3</count></order>
 <order id="8"><item sku="a2">Bar &amp; lock</item><count>1</count><note><![CDATA[keep <dry>]]></note></order>
</orders>`
)

func TestDocumentsAreReadAsProse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, want, title, author, created string
	}{
		"DocBook": {docBook, `heading 1: Gate manual
heading 2: Opening
paragraph: The gate opens at nine, café time[1]. See the plan. <the plan=https://gate.example/>
paragraph: [1] Except on Sundays.
list_item 1: North
list_item 1: South
list_item 1: It sticks.
heading 3: Locks
list_item 1: 1. Turn left.
list_item 1: 2. Push.
list_item 1: bolt, bar: It closes the gate.
code: open(
  "gate")
paragraph: Note
paragraph: Oil it.
paragraph: Prices
table_row: Part	Size	Price
table_row: Part: Bolt; Size: small; Price: 5
table_row: Part: Bolt; Size: large; Price: 7`, "Gate manual", "Ann Oake", "2024-05-01"},
		"DITA": {dita, `heading 1: Oil the gate
paragraph: Oil it twice a year.
paragraph: You need oil.
list_item 1: 1. Open the lid.
list_item 1: It is heavy.
list_item 1: 2. Pour slowly.
table_row: Month	Oil	Cost
table_row: Month: May; Oil: 1 l; Cost: 5`, "Oil the gate", "Bo Reed", "2023-02-03"},
		"JATS": {jats, `heading 1: On gates
heading 2: Abstract
paragraph: Gates are old.
heading 2: Methods
paragraph: We measured 12 gates [1].
paragraph: Figure 1. A gate.
heading 2: References
list_item 1: 1 Roe B Iron 1999`, "On gates", "Ann Oake", "2021-02-03"},
		"TEI": {tei, "heading 1: The gate\nheading 2: Abstract\nparagraph: It is about gates.\nheading 2: First song\nparagraph: The gate was shut\nparagraph: all night\nparagraph: A word about it.", "The gate", "Ann Oake", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, "a.xml", []byte(tt.text))
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if doc.Title != tt.title || doc.Metadata[domain.MetaAuthor] != tt.author || doc.Metadata[domain.MetaCreated] != tt.created {
				t.Errorf("title %q, metadata %v", doc.Title, doc.Metadata)
			}
		})
	}
}

func TestDataIsReadAsRecords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want, warning string }{
		"records": {records, "paragraph: date: 2024-01-02\ncustomer: Café Nord\nheading 1: order\n" +
			"table_row: id: 7; item.sku: a1; item: Bolt; count: 3\ntable_row: id: 8; item.sku: a2; item: Bar & lock; count: 1; note: keep <dry>", ""},
		"a feed": {`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><item><title>One</title><link>https://a.example/1</link></item><item><title>Two</title></item></channel></rss>`,
			"paragraph: version: 2.0\nheading 1: channel\nparagraph: title: News\nheading 2: item\ntable_row: title: One; link: https://a.example/1\ntable_row: title: Two", ""},
		"texts with attributes": {`<resources><string name="ok">Save it</string><string name="no">Drop <b>it</b></string></resources>`,
			"heading 1: string\ntable_row: name: ok; Save it\ntable_row: name: no; Drop it", ""},
		"words in one element":  {`<note>Only words.</note>`, "paragraph: Only words.", ""},
		"a file cut short":      {records[:strings.Index(records, `<order id="8"`)] + "<order", "paragraph: date: 2024-01-02\ncustomer: Café Nord\nheading 1: order\nparagraph: id: 7\nheading 2: item\nparagraph: sku: a1\nBolt\nparagraph: count: 3", "damaged"},
		"words that are no XML": {"<not a tag but words", "paragraph: <not a tag but words", "not valid XML"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := readtest.MustParse(t, "a.xml", []byte(tt.text))
			if diff := cmp.Diff(tt.want, readtest.Lines(doc)); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if got := strings.Join(doc.Warnings, "\n"); tt.warning == "" && got != "" || !strings.Contains(got, tt.warning) {
				t.Errorf("warnings = %q, want %q", got, tt.warning)
			}
		})
	}
}

func TestEntitiesAreNotExpanded(t *testing.T) {
	t.Parallel()
	doc := readtest.MustParse(t, "a.xml", []byte(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]><a><b>&b;</b><c>&c;</c><d>kept</d></a>`))
	if text := readtest.Text(doc); strings.Contains(text, "lollol") || strings.Contains(text, "root:") || !strings.Contains(text, "d: kept") {
		t.Errorf("text = %q, want the words without the entities' values", text)
	}
}

func TestHostileXML(t *testing.T) {
	t.Parallel()
	readtest.Damaged(t, "a.xml", []byte(docBook))
	readtest.Damaged(t, "b.xml", []byte(records))
	for name, tt := range map[string]struct {
		text string
		kind extract.Kind
	}{
		"deep elements":     {"<a>" + strings.Repeat("<b>", 100_000), extract.TooLarge},
		"deep sections":     {"<a>" + strings.Repeat("<section><title>x</title><p>two words</p>", 300), ""},
		"deep records":      {"<a>" + strings.Repeat("<b>1</b><b><c>", 250), ""},
		"many comments":     {"<a>" + strings.Repeat("b<!-- -->", 100_000) + "</a>", ""},
		"cells that span":   {"<table>" + strings.Repeat(`<tr><td rowspan="9999999" colspan="9999999"><p>two words</p></td></tr>`, 300) + "</table>", ""},
		"notes in notes":    {"<p>a b" + strings.Repeat("<fn>c d", 200) + "</p>", ""},
		"lists in tables":   {"<p>two words</p>" + "<table><tr><td>" + strings.Repeat("<ul><li>", 200) + "x", ""},
		"many elements":     {"<a>" + strings.Repeat("<b/>", 2_100_000) + "</a>", extract.TooLarge},
		"an element alone":  {"<a/>", extract.NoText},
		"attributes galore": {"<a " + strings.Repeat(`b="1" `, 100_000) + "/>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.kind == "" {
				readtest.Check(t, "a.xml", []byte(tt.text))
				return
			}
			if _, err := readtest.Parse(t, "a.xml", []byte(tt.text)); extract.KindOf(err) != tt.kind {
				t.Errorf("error = %v, want kind %q", err, tt.kind)
			}
		})
	}
}

func TestXMLIsKnownByItsContent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ head, name, declared, want string }{
		{records, "", "", "application/xml"},
		{"<a>", "a.xml", "", "application/xml"},
		{"<a>", "", "text/xml; charset=utf-8", "application/xml"},
		{"<a>", "", "", "text/plain"},
		{"words", "a.xml", "", "text/plain"},
		{records, "a.txt", "", "text/plain"},
		{`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">`, "a.xml", "", "text/html"},
	} {
		if got := extract.DetectType([]byte(tt.head), tt.name, tt.declared); got != tt.want {
			t.Errorf("DetectType(%.20q, %q, %q) = %q, want %q", tt.head, tt.name, tt.declared, got, tt.want)
		}
	}
}

func FuzzXML(f *testing.F) { readtest.Format(f, ".xml", docBook, dita, jats, tei, records) }
