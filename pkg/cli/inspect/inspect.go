// Package inspect has the commands that show what the pipeline would do with a file or a site, and keep nothing: extract and plan. They need no
// running service. Only the program that puts the commands together imports it.
package inspect
