package pull

// NoDowngrade is what the default client judges redirects by.
var NoDowngrade = noDowngrade
