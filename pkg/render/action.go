package render

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// action says how to handle a request from the browser.
type action int

const (
	refuse  action = iota // the request fails
	get                   // the request is sent
	pixel                 // the response is an empty image, because some pages keep reacting to images that fail to load
	sheet                 // the response is an empty style sheet, because some pages wait for theirs to load
	nothing               // 204 No Content: the frame keeps its document
	local                 // handled by the browser without network access
)

// emptyImage is a GIF with one transparent pixel.
var emptyImage = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;")

// actionFor chooses the action for a request by its type. Methods that change data on a server are refused, except
// POST, which many pages use to load their content.
func actionFor(kind network.ResourceType, r *network.Request) action {
	u, err := url.Parse(r.URL)
	if err != nil {
		return refuse
	}
	document := kind == network.ResourceTypeDocument
	switch {
	case headerValue(r.Headers, "Sec-Purpose") != "": // prefetched in case the user navigates there
		return refuse
	case isWeb(u) && u.User == nil:
	case u.Scheme == "blob" && !document, u.Scheme == "data" && !document, u.Scheme == "about" && document:
		return local
	default:
		return refuse
	}
	switch kind {
	case network.ResourceTypeDocument:
		if r.Method == http.MethodGet {
			return get
		}
	case network.ResourceTypeScript, network.ResourceTypeXHR, network.ResourceTypeFetch, network.ResourceTypePreflight:
		switch strings.ToUpper(r.Method) {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			return get
		case http.MethodOptions: // CORS preflight: the browser sends it and interprets the response
			if headerValue(r.Headers, "Access-Control-Request-Method") != "" {
				return get
			}
		}
	case network.ResourceTypeImage:
		return pixel
	case network.ResourceTypeStylesheet:
		return sheet
	}
	return refuse
}

func (a action) answer(ctx context.Context, n *traffic, e *fetch.EventRequestPaused) error {
	switch a {
	case get:
		return n.get(ctx, e)
	case pixel:
		return n.fulfil(ctx, e, response{status: http.StatusOK, headers: localHeaders("image/gif", e.Request), body: emptyImage})
	case sheet:
		return n.fulfil(ctx, e, response{status: http.StatusOK, headers: localHeaders("text/css", e.Request)})
	case nothing:
		return n.fulfil(ctx, e, response{status: http.StatusNoContent})
	case local:
		_, err := cdp.Call(ctx, n.session, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
		return err
	default:
		return n.fail(ctx, e, network.ErrorReasonBlockedByClient)
	}
}

// localHeaders returns the headers for a response that doesn't come from a server. Any origin may read the response.
func localHeaders(mediaType string, r *network.Request) []*fetch.HeaderEntry {
	h := []*fetch.HeaderEntry{{Name: "Content-Type", Value: mediaType}}
	if origin := headerValue(r.Headers, "Origin"); origin != "" {
		h = append(h, &fetch.HeaderEntry{Name: "Access-Control-Allow-Origin", Value: origin},
			&fetch.HeaderEntry{Name: "Access-Control-Allow-Credentials", Value: "true"})
	}
	return h
}

func headerValue(h network.Headers, name string) string {
	for k, v := range h {
		if s, ok := v.(string); ok && strings.EqualFold(k, name) {
			return s
		}
	}
	return ""
}
