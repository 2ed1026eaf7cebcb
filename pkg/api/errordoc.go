package api

import (
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// ErrorDoc is what the documentation says of one code of errors.
type ErrorDoc struct {
	Code    string
	Status  int
	Title   string
	Meaning string
	Remedy  string
}

// errorWords are the meaning of each code and what to do about it.
var errorWords = map[domain.Code][2]string{
	domain.CodeInvalid: {
		"The request is not what the endpoint takes. `errors` names every field that is wrong, with its path and why, so that all can be mended at once.",
		"Change what `errors` names. A field that is not known is named with the one that was probably meant. Sending the same again cannot succeed.",
	},
	domain.CodeUsageLimit: {
		"A quota is used up: agent queries or tokens of this month, or stored chunks or bytes of the workspace, by configuration or by the limits of the workspace or key. Content that was accepted before stays and is finished.",
		"`GET /usage` shows what is used and what the limits are. Raise them (`PUT /usage/limits`, `PUT /keys/{id}/limits`, `SLUICE_QUOTA_*`), delete content, or wait for the next month.",
	},
	domain.CodeUnauthorized: {
		"There is no key, it is not valid, has expired or was revoked, or it does not have the scope that the endpoint asks for. Endpoints in OpenAI's form answer 401 for the first of these.",
		"Send `Authorization: Bearer sk_…` with a key of the workspace. The first start prints one and keeps it in `api-key` in the data directory; `sluice keys create` makes others. `detail` says which scope is missing.",
	},
	domain.CodeNotFound: {
		"There is no such endpoint, or no resource with that id in the key's workspace. What lies in another workspace is answered in just the same way.",
		"Check the id and the path, and that the key is of the workspace that the resource was made in. What was deleted is gone at once.",
	},
	codeMethod: {
		"The path exists, and does not take this method.",
		"Use one of the methods that the header `Allow` names.",
	},
	domain.CodeConflict: {
		"The request does not fit what is there: the same site twice in a datastore, an `Idempotency-Key` that was used for another request or whose request is still under way, a datasource that cannot be stopped, or a change that another one has overtaken.",
		"`detail` says which, and names the resource that is in the way. With `Retry-After` the conflict passes by itself: send the same again after that time.",
	},
	domain.CodeTooLarge: {
		"The body or the file is larger than its limit, which `detail` names.",
		"Send less at once: several upserts in the place of one, a smaller file. The operator raises `SLUICE_LIMIT_UPLOAD` or `SLUICE_LIMIT_JSON`.",
	},
	domain.CodeUnsupported: {
		"The file is of a type that is not read; `detail` names those that are. Or the body has a `Content-Encoding`, such as gzip.",
		"Send the body unencoded. Convert the file to PDF, Word, PowerPoint, Excel, CSV, JSON, Markdown, HTML, mail (eml), web archive (mht) or text.",
	},
	domain.CodeRateLimit: {
		"Requests with this key, or questions of this visitor, come faster than they may; or as many previews of crawls are being made as may be at once.",
		"Wait as long as `Retry-After` says, and send the same again; with an `Idempotency-Key` nothing is done twice. The operator sets `SLUICE_LIMIT_RATE`, `SLUICE_LIMIT_VISITOR` and the limits of keys.",
	},
	domain.CodeUnavailable: {
		"Something that the request needs is away or too busy: the database, NATS, Milvus, a model server, or the disk is full. What was answered with a 2xx is safe; of this request nothing was done, or it can be repeated with its `Idempotency-Key`.",
		"Send the same again after `Retry-After`. The operator sees in `/readyz` which dependency it is, and in the log why.",
	},
	domain.CodeInternal: {
		"The service failed in a way that it should not. Clients are told no more than the id of the request, `instance`.",
		"Look for that id in the service's log. It is a fault of Sluice: report it with those lines.",
	},
}

// ErrorDocs lists all codes, by status.
func ErrorDocs() []ErrorDoc {
	var out []ErrorDoc
	for code, st := range statuses {
		w := errorWords[code]
		out = append(out, ErrorDoc{Code: string(code), Status: st.status, Title: st.title, Meaning: w[0], Remedy: w[1]})
	}
	slices.SortFunc(out, func(a, b ErrorDoc) int {
		if a.Status != b.Status {
			return a.Status - b.Status
		}
		return strings.Compare(a.Code, b.Code)
	})
	return out
}
