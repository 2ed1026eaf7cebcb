// Package telemetry traces requests through all processes with OpenTelemetry: from HTTP through the outbox and NATS to
// the worker, and back with the worker's event. No other package imports OpenTelemetry.
//
// Tracing is off unless the standard OTEL_* variables name a destination; calls then cost almost nothing. Traces
// contain ids, counts and causes, but no content, addresses or error texts, because people who may read traces may not
// be allowed to read the datastores.
package telemetry
