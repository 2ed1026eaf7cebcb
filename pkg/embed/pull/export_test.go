package pull

// CheckRedirect exports checkRedirect for tests.
var CheckRedirect = checkRedirect
