// Package inspect contains the commands that show the pipeline's work on a file or site without storing anything:
// extract and plan. They need no running service. Only the program that assembles the commands imports it.
package inspect
