package crawl

// Rendered is a page as a browser shows it when its scripts have run.
type Rendered struct {
	HTML   []byte // UTF-8, without the scripts
	URL    string // after redirects and scripts
	Status int    // of the server's answer for the page
}
