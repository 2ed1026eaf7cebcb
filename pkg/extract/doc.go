// Package extract reads documents: raw bytes in, a domain.Document with structured blocks out.
//
// Each format is a package of its own, and formats.go lists them. Content decides which of them reads a document, and
// the declared type and the file name come second.
//
// Files come from strangers, and some of them kill the process that reads them: a few hundred bytes can ask for
// terabytes, and Go cannot recover from running out of memory. So an Extractor never parses in its own process.
// It runs the same binary again as a child with limits on address space and processor time, hands it one document
// after another, and replaces it when it dies; a document that kills its child costs one *Error and nothing else.
// Every main and TestMain that may create an Extractor must call RunChildIfAsked first.
//
// Parse is the function that runs in the child, for tests, fuzzing and tools that already are a child.
package extract
