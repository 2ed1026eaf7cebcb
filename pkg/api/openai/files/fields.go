package files

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/upload"
)

// purposes are the valid purposes of a file. They are only stored, except that "batch" files expire by default.
var purposes = []string{"assistants", "batch", "evals", "fine-tune", "user_data", "vision"}

// Limits on a file's lifetime.
const (
	minKeepFor   = time.Hour
	maxKeepFor   = 30 * 24 * time.Hour
	batchKeepFor = 30 * 24 * time.Hour // default for "batch" files
)

type faultFunc func(field, format string, args ...any)

func checkPurpose(fault faultFunc, purpose string) {
	switch {
	case purpose == "":
		fault("purpose", "is required; it must be one of %s", strings.Join(purposes, ", "))
	case !slices.Contains(purposes, purpose):
		fault("purpose", "is %s; it must be one of %s", jsonbody.Describe(purpose), strings.Join(purposes, ", "))
	}
}

// expiry is the `expires_after` field.
type expiry struct {
	Anchor  string `json:"anchor"`
	Seconds int64  `json:"seconds"`
}

// expiryOfForm returns a form's expiry, sent as two parts or as JSON, or nil if there is none.
func expiryOfForm(form *upload.Form) *expiry {
	if text := form.Fields["expires_after"]; text != "" {
		var e expiry
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			form.Fault("expires_after", `is %s; it must be an object such as {"anchor": "created_at", "seconds": 3600}`, jsonbody.Describe(text))
			return nil
		}
		return &e
	}
	anchor, seconds := form.Fields["expires_after[anchor]"], form.Fields["expires_after[seconds]"]
	if anchor == "" && seconds == "" {
		return nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		form.Fault("expires_after[seconds]", "is %s; it must be a whole number", jsonbody.Describe(seconds))
		return nil
	}
	return &expiry{Anchor: anchor, Seconds: n}
}

// keepForOf returns how long to keep a file. 0 means forever.
func keepForOf(fault faultFunc, purpose string, e *expiry) time.Duration {
	switch {
	case e == nil && purpose == "batch":
		return batchKeepFor
	case e == nil:
		return 0
	}
	if e.Anchor != "created_at" {
		fault("expires_after.anchor", `is %s; it must be "created_at"`, jsonbody.Describe(e.Anchor))
	}
	least, most := int64(minKeepFor.Seconds()), int64(maxKeepFor.Seconds())
	if e.Seconds < least || e.Seconds > most {
		fault("expires_after.seconds", "is %d; it must be between %d and %d", e.Seconds, least, most)
		return 0
	}
	return time.Duration(e.Seconds) * time.Second
}
