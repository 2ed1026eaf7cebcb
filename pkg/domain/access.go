package domain

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// SiteAccess holds extra headers, such as credentials, for requests to a protected site. Header values are encrypted
// wherever they are stored or sent.
type SiteAccess struct {
	Origin string   `json:"origin"` // the only origin that receives the headers: scheme://host and any non-default port
	Names  []string `json:"names"`  // header names; not secret
	Sealed []byte   `json:"sealed"`
}

// Limits on a datasource's headers.
const (
	MaxHeaders      = 20
	MaxHeaderName   = 100      // bytes
	MaxHeaderValue  = 8 << 10  // bytes
	MaxHeadersBytes = 16 << 10 // total size of names and values; every job of the site contains them
)

// reservedHeaders maps each header that users can't configure to the reason.
var reservedHeaders = func() map[string]string {
	reasons := map[string]string{
		"is taken from the address": "Host",
		"identifies the crawler; the operator sets it with SLUICE_USER_AGENT": "User-Agent",
		"applies to a single connection":                                      "Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade HTTP2-Settings",
		"describes a body, but the crawler's requests have none":              "Content-Length Content-Type Content-Encoding Expect",
		"lists the encodings that the crawler can decode":                     "Accept-Encoding",
		"makes a request conditional, which the crawler already does itself":  "If-Match If-None-Match If-Modified-Since If-Unmodified-Since If-Range Range",
		"says where a request came from, which only a proxy can do":           "Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Port X-Real-Ip Via",
	}
	out := map[string]string{}
	for reason, names := range reasons {
		for name := range strings.FieldsSeq(names) {
			out[textproto.CanonicalMIMEHeaderKey(name)] = reason
		}
	}
	return out
}()

// CleanHeaders returns the headers with canonical names and trimmed values, or errors that say what is wrong with the
// headers. The errors never contain header values.
func CleanHeaders(field string, headers map[string]string) (map[string]string, []FieldError) {
	var faults []FieldError
	fault := func(name, format string, args ...any) {
		at := field
		if name != "" {
			at += "." + strings.ToValidUTF8(name[:min(len(name), MaxHeaderName)], "")
		}
		faults = append(faults, FieldError{Field: at, Message: fmt.Sprintf(format, args...)})
	}
	if len(headers) > MaxHeaders {
		fault("", "has %d headers; the limit is %d", len(headers), MaxHeaders)
		return nil, faults
	}
	clean, total := make(map[string]string, len(headers)), 0
	for _, given := range slices.Sorted(maps.Keys(headers)) {
		value := strings.Trim(headers[given], " \t")
		name := textproto.CanonicalMIMEHeaderKey(given)
		total += len(name) + len(value)
		reason := reservedHeaders[name]
		if strings.HasPrefix(name, "Proxy-") {
			reason = "is for a proxy, not for the site; put the user name and password in SLUICE_CRAWL_PROXY"
		}
		_, twice := clean[name]
		switch {
		case !httpguts.ValidHeaderFieldName(given) || len(given) > MaxHeaderName:
			fault(given, "is not a valid header name; use letters, digits and hyphens, at most %d characters", MaxHeaderName)
		case reason != "":
			fault(given, "cannot be set: it %s", reason)
		case value == "":
			fault(given, "is empty; leave the header out instead")
		case !httpguts.ValidHeaderFieldValue(value):
			fault(given, "has a line break or another control character; remove it")
		case len(value) > MaxHeaderValue:
			fault(given, "has %d bytes; the limit is %d", len(value), MaxHeaderValue)
		case twice:
			fault(given, "is set twice: header names are case-insensitive; set it only once")
		default:
			clean[name] = value
		}
	}
	if total > MaxHeadersBytes {
		fault("", "has %d bytes in total; the limit is %d", total, MaxHeadersBytes)
	}
	return clean, faults
}
