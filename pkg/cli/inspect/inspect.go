// Package inspect contains the commands extract and plan, which show what the pipeline does with a file or site without
// storing anything. They need no running service. Only the program that assembles the commands imports this package.
package inspect
