package api_test

import "github.com/sluice/sluice/pkg/api"

// limits sets every limit to a small value.
func limits(o *api.Options, _ *api.Deps) {
	o.MaxQueryChars, o.MaxDocuments, o.MaxJSONBytes, o.MaxUploadBytes, o.MaxPages = 20, 3, 1000, 2000, 5
}
