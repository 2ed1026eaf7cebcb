package pull

// CheckRedirect is what the default client judges redirects by.
var CheckRedirect = checkRedirect
