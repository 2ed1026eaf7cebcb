package problem

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Doc is the documentation for one error code.
type Doc struct {
	Code    string
	Status  int
	Title   string
	Meaning string
	Remedy  string
}

// errorWords holds each code's meaning and remedy.
var errorWords = map[domain.Code][2]string{
	domain.CodeInvalid: {
		"The request is not valid. `errors` lists every invalid field with the reason, and suggests the likely name for an unknown one. [The API's introduction](../pkg/api/openapi.yaml) says where unknown fields are ignored.",
		"Correct these fields. The same request will fail again.",
	},
	domain.CodeUsageLimit: {
		"A quota, set in the configuration or for the workspace or key, is used up: this month's agent queries or tokens, or the stored chunks or bytes. Content that was already accepted is kept and fully processed.",
		"`GET /usage` shows usage and limits. Raise the limit (`PUT /usage/limits`, `PUT /keys/{id}/limits`, `SLUICE_QUOTA_*`), delete content, or wait for the next month.",
	},
	domain.CodeUnauthorized: {
		"The key is missing, invalid, expired or revoked, or lacks the scope that the endpoint requires. For a missing or invalid key, endpoints in OpenAI's format answer 401 instead.",
		"Send `Authorization: Bearer sk_…` with a key for the workspace. The first key is `SLUICE_API_KEY`, or is in the data directory's `api-key` file; `sluice keys create` creates others. `detail` names a missing scope.",
	},
	domain.CodeNotFound: {
		"The endpoint does not exist, or the key's workspace has no resource with this id. Resources of other workspaces get the same answer.",
		"Check the path, the id and the key's workspace. Deleted resources disappear at once.",
	},
	CodeMethod: {
		"The path exists but does not support this method.",
		"Use a method from the `Allow` header.",
	},
	domain.CodeConflict: {
		"The request conflicts with the current state: the datastore already has this site, the `Idempotency-Key` belongs to another request or one in progress, the datasource cannot be stopped, its page cannot be drawn, or a concurrent change came first.",
		"`detail` names the conflict. If the response has `Retry-After`, send the same request again after that time.",
	},
	domain.CodeTooLarge: {
		"The body or the file exceeds a limit, which `detail` names.",
		"Split the upsert, or upload a smaller file, or several ZIP archives instead of one. The operator can raise `SLUICE_LIMIT_UPLOAD` or `SLUICE_LIMIT_JSON`.",
	},
	domain.CodeUnsupported: {
		"The file type is not supported (`detail` lists the supported types), or the body has a `Content-Encoding` such as gzip.",
		"Send the body unencoded, or convert the file to a supported type.",
	},
	domain.CodeRateLimit: {
		"The key or visitor is over its rate limit, or too many crawl previews or page pictures are being requested.",
		"Send the same request again after `Retry-After`, which is in seconds. The operator can change `SLUICE_LIMIT_RATE`, `SLUICE_LIMIT_VISITOR` and a key's limits.",
	},
	domain.CodeUnavailable: {
		"A dependency is down or overloaded (database, NATS, Milvus, a model server), the service is at capacity, or the disk is full. Everything that was answered with 2xx is safe. This request may still have taken effect.",
		"Send the same request again after `Retry-After`, with the same `Idempotency-Key`, so that nothing is done twice. Operators can see the dependency in `/readyz` and the reason in the log.",
	},
	domain.CodeInternal: {
		"The service failed unexpectedly. `instance` is the request's id.",
		"This is a bug in Sluice: report it with the log lines that have this id.",
	},
}

// Docs returns the documentation for all codes, sorted by status.
func Docs() []Doc {
	var out []Doc
	for code, st := range statuses {
		w := errorWords[code]
		out = append(out, Doc{Code: string(code), Status: st.status, Title: st.title, Meaning: w[0], Remedy: w[1]})
	}
	slices.SortFunc(out, func(a, b Doc) int {
		return cmp.Or(a.Status-b.Status, strings.Compare(a.Code, b.Code))
	})
	return out
}
