package mcp

import (
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// maxIDCharacters bounds the ids and addresses that callers send.
const maxIDCharacters = 200

// resourcePrefix begins the addresses of datasources as resources.
const resourcePrefix = "sluice://datasources/"

// place is where in a datasource to read.
type place struct {
	datasourceID string
	ordinal      int  // of the first chunk
	around       bool // some of what comes before belongs to it, and all of it if the datasource is short
}

// parsePlace reads an id: a datasource's; a chunk's, with the datasource, a generation that may be gone by now, and the
// ordinal; or that of a part, with the datasource and the ordinal.
func parsePlace(id string) (place, error) {
	datasource, rest, isPart := strings.Cut(id, "#")
	p := place{datasourceID: datasource}
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
		return place{}, domain.Errorf(domain.CodeNotFound, "%.80q is no id of a document or passage; search returns ids", id)
	}
	return p, nil
}

func ordinalOf(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// String is the id that parsePlace reads.
func (p place) String() string {
	if p.ordinal == 0 {
		return p.datasourceID
	}
	return p.datasourceID + "#" + strconv.Itoa(p.ordinal)
}

// resourceURI is the address of a datasource, from a chunk on, as a resource.
func resourceURI(datasourceID string, ordinal int) string {
	if ordinal == 0 {
		return resourcePrefix + datasourceID
	}
	return resourcePrefix + datasourceID + "?from=" + strconv.Itoa(ordinal)
}

// parseURI reads a resource's address; ok is false for what is none.
func parseURI(uri string) (p place, ok bool) {
	rest, ok := strings.CutPrefix(uri, resourcePrefix)
	id, from, hasFrom := strings.Cut(rest, "?from=")
	if !ok || !domain.ValidID(id) {
		return place{}, false
	}
	p.datasourceID = id
	if hasFrom {
		n, err := ordinalOf(from)
		if err != nil {
			return place{}, false
		}
		p.ordinal = n
	}
	return p, true
}
