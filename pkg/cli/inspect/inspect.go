// Package inspect contains the extract and plan commands, which show what the pipeline does with a file or site without
// storing anything. They don't need a running service. Only the program that assembles the commands imports this
// package.
package inspect
