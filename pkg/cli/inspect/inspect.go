// Package inspect contains the commands extract and plan, which show how the pipeline works on a file or site without
// storing anything. They need no running service. Only the program that assembles the commands imports this package.
package inspect
