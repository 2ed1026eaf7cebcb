// Package telemetry follows what is done for a request through all processes, as traces of OpenTelemetry: from HTTP through
// the outbox and NATS to the worker, and back with the worker's event. It is the one package that knows OpenTelemetry.
//
// Traces are off unless the standard variables OTEL_* name where they go; then everything here is free. They hold ids,
// counts and causes, never content, addresses or error texts: whoever may read them may not read what is in datastores.
package telemetry
