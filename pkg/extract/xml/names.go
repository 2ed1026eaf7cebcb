package xml

import "github.com/sluice/sluice/pkg/wordset"

// Element names in DocBook, DITA, JATS, TEI and similar formats. One list serves all of them, because no name has
// different meanings in different formats.
var (
	// documents are the root elements of documents.
	documents = wordset.Of(`book article chapter part appendix section refentry topic concept task reference troubleshooting glossentry dita TEI`)
	// paragraphs hold sentences.
	paragraphs = wordset.Of(`para simpara p cmd shortdesc ab l remark bridgehead subtitle attribution blockquote quotation synopsis`)
	// items are the items of lists.
	items = wordset.Of(`listitem li item list-item step substep member callout stepalternatives choice def dd answer question`)
	// lists contain items.
	itemLists = wordset.Of(`itemizedlist orderedlist simplelist variablelist procedure substeps calloutlist ul ol sl list steps steps-unordered
		choices dl def-list qandaset glosslist`)
	// numbered are the lists whose items have numbers.
	numbered = wordset.Of(`orderedlist ol procedure substeps steps`)
	// terms are the elements that contain a term whose definition is in a separate element.
	terms = wordset.Of(`term dt glossterm`)
	// code holds text whose line breaks matter.
	code = wordset.Of(`programlisting screen literallayout codeblock msgblock pre preformat eg address`)
	// captioned are elements whose title is a caption rather than a heading.
	captioned = wordset.Of(`table informaltable figure informalfigure example informalexample fig table-wrap boxed-text formalpara note tip warning caution
		important hazardstatement sidebar equation variablelist itemizedlist orderedlist procedure blockquote simpletable list media supplementary-material lg`)
	// rows are table rows.
	rows = wordset.Of(`row tr strow sthead chrow chhead property prophead`)
	// headers are table sections whose rows name the columns.
	headers = wordset.Of(`thead sthead chhead prophead`)
	// tables contain rows.
	tables = wordset.Of(`table informaltable simpletable properties choicetable`)
	// skipped have no text for readers.
	skipped = wordset.Of(`indexterm index toc lot footnoteref tex-math annotation-xml graphic imagedata image journal-meta permissions object-id
		article-id article-categories aff author-notes history counts related-article custom-meta-group revhistory legalnotice copyright
		teiHeader bookmeta resourceid data data-about draft-comment required-cleanup processing-instruction style script binary`)
	// information contains metadata for all or part of the document.
	information = wordset.Of(`info articleinfo bookinfo chapterinfo sectioninfo sect1info setinfo prefaceinfo appendixinfo partinfo refentryinfo prolog
		article-meta front`)
	// footnotes follow the paragraph that refers to them.
	footnotes = wordset.Of(`footnote fn`)
	// titles are section titles and captions.
	titles = wordset.Of(`title head`)
)
