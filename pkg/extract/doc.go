// Package extract reads documents, i.e. turns raw bytes into a domain.Document with structured blocks.
//
// Each format has its own package; formats.go lists them all. A document's format is detected from its content first,
// then from the declared type and the file name.
//
// Input is untrusted, and some files kill the process that reads them: a few hundred bytes can request terabytes, and
// Go cannot recover from running out of memory. So an Extractor parses in child processes; only small plain text and
// CSV files may be read in its own process (see Options.Direct). A child runs the same binary, with limits on address
// space and CPU time. The Extractor gives it one document after another and replaces it when it dies. If a document
// kills its child, only that document fails, with an *Error. Every main and TestMain that may create an Extractor must
// call RunChildIfAsked first.
//
// Parse reads a document in the current process, without this protection. It is exported for tests, fuzzing and tools.
package extract
