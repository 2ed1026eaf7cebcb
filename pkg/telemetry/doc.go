// Package telemetry traces requests through all processes with OpenTelemetry: from HTTP through the outbox and NATS to
// the worker, and back with the worker's event. Only this package imports OpenTelemetry.
//
// Traces are off unless the standard variables OTEL_* name a destination; if they are off, all calls are free. Traces
// contain ids, counts and causes, but no content, addresses or error texts, because readers of traces may not be
// allowed to read the datastores.
package telemetry
