package mcp

import (
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum length of ids and addresses sent by callers, in characters.
const maxIDCharacters = 200

// resourcePrefix is the start of every datasource's resource URI. The id follows it.
const resourcePrefix = "sluice://datasources/"

// resource is a position in a datasource.
type resource struct {
	datasourceID string
	ordinal      int  // ordinal of the first chunk to read
	around       bool // whether to also read some chunks before that one, or the whole datasource if it is short
}

// parseResource parses the id of a datasource, a chunk or a part. A chunk's id consists of the datasource's id, a
// generation and an ordinal; the generation may be outdated. A part's id consists of the datasource's id and the
// ordinal of the part's first chunk.
func parseResource(id string) (resource, error) {
	datasource, rest, isPart := strings.Cut(id, "#")
	p := resource{datasourceID: datasource}
	var err error
	if isPart {
		p.ordinal, err = ordinalOf(rest)
	} else if parts := strings.Split(id, ":"); len(parts) == 3 {
		p.datasourceID, p.around = parts[0], true
		if _, err = strconv.ParseUint(parts[1], 10, 64); err == nil {
			p.ordinal, err = ordinalOf(parts[2])
		}
	}
	if err != nil || !domain.ValidID(p.datasourceID) {
		return resource{}, domain.Errorf(domain.CodeNotFound, "%.80q is not the id of a document or passage; use an id from search", id)
	}
	return p, nil
}

func ordinalOf(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// String returns the id of the datasource or part in the form parseResource accepts.
func (p resource) String() string {
	if p.ordinal == 0 {
		return p.datasourceID
	}
	return p.datasourceID + "#" + strconv.Itoa(p.ordinal)
}

// resourceURI returns the resource URI for a datasource's text, starting at the chunk with the given ordinal.
func resourceURI(datasourceID string, ordinal int) string {
	if ordinal == 0 {
		return resourcePrefix + datasourceID
	}
	return resourcePrefix + datasourceID + "?from=" + strconv.Itoa(ordinal)
}

// parseURI parses a resource URI. If it is invalid, ok is false.
func parseURI(uri string) (p resource, ok bool) {
	rest, ok := strings.CutPrefix(uri, resourcePrefix)
	id, from, hasFrom := strings.Cut(rest, "?from=")
	if !ok || !domain.ValidID(id) {
		return resource{}, false
	}
	p.datasourceID = id
	if hasFrom {
		n, err := ordinalOf(from)
		if err != nil {
			return resource{}, false
		}
		p.ordinal = n
	}
	return p, true
}
