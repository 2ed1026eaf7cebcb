// Package extract reads documents: raw bytes in, a domain.Document with structured blocks out.
//
// Each format is a package of its own, and formats.go lists them. The format of a document is detected from its content
// first, then from the declared type and the file name.
//
// Input is untrusted, and some files kill the process that reads them: a few hundred bytes can request terabytes, and
// Go cannot recover from running out of memory. So an Extractor never parses in its own process. It runs the same
// binary as a child process with limits on address space and CPU time, passes it one document after another, and
// replaces it when it dies. A document that kills its child causes one *Error and nothing else. Every main and TestMain
// that may create an Extractor must call RunChildIfAsked first.
//
// Parse is the function that runs in the child. It is exported for tests, fuzzing and tools that already run in a
// child.
package extract
