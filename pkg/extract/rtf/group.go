package rtf

import (
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/wordset"
)

// destination is the purpose of a group's text.
type destination int

const (
	visible     destination = iota
	skipped                 // pictures, colour tables, and anything unknown that the file marks as optional
	fontTable               // names of fonts
	styleSheet              // names of styles
	information             // metadata
	property                // one metadata value, named by group.key
	instruction             // a field's instruction
	label                   // a list item's number or bullet
)

// group is the state of an RTF group (text in braces). A new group inherits the state of the group around it.
type group struct {
	to              destination
	begun           bool // it has text or words
	optional        bool // the next word is a destination that readers skip if they do not know it
	key             string
	font            int
	style           int
	hidden, deleted bool
	unicodeFallback int // number of characters that replace a character number in older readers
	bold            bool

	// Paragraph properties.
	outline   int // level from 0; noOutline means body text
	inTable   bool
	list      int // list number; 0 means none
	listLevel int // from 0

	collected *strings.Builder // text in an invisible destination
	date      *[5]int          // a property's year, month, day, hour and minute
	link      string           // address of the field around the group
	linkFrom  int
	opensLink bool // the group is a link's result
	ends      func() error
}

const noOutline = -1

func (r *reader) group() *group { return &r.groups[len(r.groups)-1] }

// open begins a group.
func (r *reader) open() error {
	if err := r.decode(); err != nil {
		return err
	}
	if len(r.groups) > format.MaxDepth {
		return format.Errorf(format.TooLarge, "the document is nested deeper than %d levels", format.MaxDepth)
	}
	inner := *r.group()
	inner.begun, inner.optional, inner.ends, inner.opensLink = false, false, nil, false
	r.groups = append(r.groups, inner)
	r.fallback = 0
	return nil
}

// close ends a group.
func (r *reader) close() error {
	if err := r.decode(); err != nil {
		return err
	}
	r.fallback = 0
	if len(r.groups) == 1 {
		r.closed = true // more closing than opening braces
		return nil
	}
	g := *r.group()
	if g.opensLink {
		r.endLink(g)
	}
	var err error
	if g.ends != nil {
		err = g.ends()
	}
	r.groups = r.groups[:len(r.groups)-1]
	r.closed = len(r.groups) == 1
	return err
}

// skips lists destinations that contain no text for readers. Destinations that the file marks as optional are skipped
// as well, unless they are in optionals.
var skips = wordset.Of(`colortbl filetbl revtbl pict objdata nonshppict shprslt nonesttables xe tc rxe bkmkstart bkmkend listtable listoverridetable
	list listname leveltext levelnumbers rsidtbl generator template private userprops xmlnstbl themedata colorschememapping datastore latentstyles htmltag mhtmltag sp objclass objname
	ftnsep ftnsepc aftnsep aftnsepc ftncn aftncn formfield falt panose`)

// optionals lists destinations to read even if the file marks them as optional.
var optionals = wordset.Of(`shppict shpinst shptxt do dptxbxtext ud moMath moMathPara fldinst listtext pntext nesttableprops annotation upr`)

// destinationWord handles a word that names a destination. It returns false for other words.
func (r *reader) destinationWord(word string) (bool, error) {
	g := r.group()
	optional := g.optional
	g.optional = false
	switch word {
	case "fonttbl":
		g.to = fontTable
	case "stylesheet":
		g.to = styleSheet
	case "info":
		g.to = information
	case "title", "author", "subject", "keywords", "doccomm", "creatim", "revtim":
		if g.to != information {
			return false, nil
		}
		r.property(word)
	case "field":
		g.link, g.key = "", ""
	case "fldinst":
		text, parent := r.collect(instruction), len(r.groups)-2
		if text == nil || parent < 0 {
			break
		}
		g.ends = func() error {
			r.groups[parent].link = hyperlink(text.String())
			r.groups[parent].key = fieldName(text.String())
			return nil
		}
	case "fldrslt":
		if g.key == "PAGE" || g.key == "NUMPAGES" {
			g.to = skipped
			break
		}
		if g.link != "" {
			g.opensLink, g.linkFrom = true, r.flow.text.Len()
		}
	case "listtext", "pntext":
		if text := r.collect(label); text != nil {
			g.ends = func() error {
				r.flow.label = text.String()
				return nil
			}
		}
	case "footnote":
		return true, r.footnote()
	case "annotation":
		return true, r.comment()
	case "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		return true, r.margin(strings.HasPrefix(word, "header"))
	case "shptxt", "dptxbxtext":
		r.nested(func(b []domain.Block) error {
			r.flow.after = append(r.flow.after, b...)
			return nil
		}, "")
	case "object":
		r.objects = true
	case "objemb", "objlink":
		if r.objects && g.to == visible {
			r.p.Out.Warn("embedded objects were skipped; upload them as separate files")
		}
	case "upr": // the first group is for readers without Unicode; the second one is optional
		g.to = skipped
		g.key = "upr"
	case "ud":
		if len(r.groups) > 2 && r.groups[len(r.groups)-2].key == "upr" {
			g.to, g.key = r.groups[len(r.groups)-3].to, ""
		}
	default:
		if !optional && !skips[word] || optionals[word] {
			return false, nil
		}
		g.to = skipped
	}
	return true, nil
}

// collect starts collecting the current group's text for `to` and returns the builder that receives it. It returns nil
// if the group isn't visible, because the group's text is then skipped or already being collected.
func (r *reader) collect(to destination) *strings.Builder {
	g := r.group()
	if g.to != visible {
		return nil
	}
	g.to, g.collected = to, &strings.Builder{}
	return g.collected
}

// property collects a metadata value.
func (r *reader) property(word string) {
	g := r.group()
	g.to, g.key, g.collected = property, word, &strings.Builder{}
	text, date := g.collected, &[5]int{}
	g.date = date
	g.ends = func() error {
		value := format.OneLine(text.String())
		switch word {
		case "title":
			if r.p.Doc.Title == "" {
				r.p.Doc.Title = value
			}
		case "author":
			r.p.Meta(domain.MetaAuthor, value)
		case "subject", "doccomm":
			r.p.Meta(domain.MetaDescription, value)
		case "keywords":
			r.p.Meta(domain.MetaKeywords, value)
		case "creatim":
			r.p.Meta(domain.MetaCreated, dateText(date))
		case "revtim":
			r.p.Meta(domain.MetaModified, dateText(date))
		}
		return nil
	}
}
