package client

import (
	"context"
	"net/http"
)

// CreateKey creates an API key. This is the only time its secret is returned.
func (c *Client) CreateKey(ctx context.Context, k KeyCreate) (*KeyCreated, error) {
	return decodeOne[KeyCreated](c.endpoints.CreateKey(ctx, nil, k))
}

// ListKeys returns the workspace's keys without their secrets, newest first.
func (c *Client) ListKeys(ctx context.Context) ([]Key, error) {
	got, err := decodeOne[KeyList](c.endpoints.ListKeys(ctx))
	return value(got).Data, err
}

// RevokeKey revokes a key immediately.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return deleteByID(ctx, id, c.endpoints.RevokeKey)
}

// SetKeyLimits replaces all limits of the key.
func (c *Client) SetKeyLimits(ctx context.Context, id string, l KeyLimitsUpdate) (*Key, error) {
	return callByIDWithBody[KeyLimitsUpdate, Key](ctx, id, l, c.endpoints.SetKeyLimits)
}

// GetUsage returns the workspace's usage in a month. `month` has the form 2026-05; "" means the current month.
func (c *Client) GetUsage(ctx context.Context, month string) (*Usage, error) {
	var p GetUsageParams
	if month != "" {
		p.Month = &month
	}
	return decodeOne[Usage](c.endpoints.GetUsage(ctx, &p))
}

// GetLimits returns the workspace's limits.
func (c *Client) GetLimits(ctx context.Context) (*Limits, error) {
	return decodeOne[Limits](c.endpoints.GetLimits(ctx))
}

// SetLimits replaces all of the workspace's limits.
func (c *Client) SetLimits(ctx context.Context, l LimitsUpdate) (*Limits, error) {
	return decodeOne[Limits](c.endpoints.SetLimits(ctx, l))
}

// GetReadiness returns the readiness of the service and its dependencies. A dependency that is down is not an error.
func (c *Client) GetReadiness(ctx context.Context) (*Readiness, error) {
	return decodeOne[Readiness](c.endpoints.GetReadiness(withOptions(ctx, requestOptions{accept: http.StatusServiceUnavailable})))
}
